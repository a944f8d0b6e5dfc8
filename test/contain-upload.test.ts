import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { approveRun, contained, startContained, workOf } from "./support/box.ts";
import { asUser, demoPack, type Gateway, GW, Home, makeFolder, until, within } from "./support/home.ts";
import { idOf } from "./support/reply.ts";

/** Uploads that are larger than what anybody holds in memory: real curl in a box, the real gateway, a provider on loopback. */
const skip = asUser;
const MIB = 1_048_576;
/** Eight are held in memory, and the pack allows ten. */
const LARGE = 9 * MIB;
let home: Home;
let gateway: Gateway;
const received: {
  readonly url: string;
  readonly length: string | undefined;
  readonly bytes: number;
  readonly digest: string;
}[] = [];
const provider = createServer(async (request, response) => {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    hash.update(chunk);
    bytes += chunk.byteLength;
  }
  const { url = "", headers } = request;
  if (url === "/v1/scans") {
    response.writeHead(200, { "content-type": "application/octet-stream" }).end(Buffer.alloc(LARGE, "b"));
    return;
  }
  received.push({ url, length: headers["content-length"], bytes, digest: hash.digest("hex") });
  response.writeHead(201, { "content-type": "application/json" }).end('{"kept":true}');
});
let origin: string;

const UPLOAD = `  file.put:
    effect: write
    needs: { approval: each_use }
    request: { method: PUT, path: "/v1/files/{name}", body: opaque, media_type: application/octet-stream }
    input:
      name: { in: path, type: string, maxLength: 64 }
      content: { in: body, type: string, maxLength: 13981016 }
  file.scan:
    effect: read
    request: { method: POST, path: /v1/scans, body: opaque, media_type: application/octet-stream }
    response: stream
    limits: { response_bytes: 100000000 }
    input:
      content: { in: body, type: string, maxLength: 13981016 }
`;

before(async () => {
  if ("skip" in skip) return;
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  home = await new Home(makeFolder()).init();
  await home.addCredential("demo-token", origin);
  await home.trustPack("demo", demoPack(origin, UPLOAD));
  gateway = await home.up();
});
after(async () => {
  await gateway?.end("SIGTERM");
  provider.closeAllConnections();
  provider.close();
});

const put = (name: string) =>
  `curl -sS -m 600 -T ${name} -H 'content-type: application/octet-stream' -w '%{http_code}' ${origin}/v1/files/${name}`;

test(
  "curl -T of more than anybody holds is sent from a file without a name; the card has its size and digest",
  skip,
  async () => {
    const digest = createHash("sha256").update(Buffer.alloc(LARGE, "a")).digest("hex");
    const run = startContained(home, ["sh", "-c", `head -c ${LARGE} /dev/zero | tr '\\0' a > big; ${put("big")}`]);
    await approveRun(home, run);
    const [card] = await home.approvals();
    const shown = JSON.stringify(card);
    assert.ok(shown.includes(`sha256:${digest}`), shown);
    assert.ok(shown.includes(String(LARGE)), shown);
    assert.deepEqual(readdirSync(join(home.folder, "spool")), [], "nobody can open it by a name");
    await home.approve(idOf(card, "approval_id"));
    const { code, out, err } = await within(run.exited, 120_000, "it ends");
    assert.equal(code, 0, err);
    assert.equal(out, '{"kept":true}201');
    assert.deepEqual(received, [{ url: "/v1/files/big", length: String(LARGE), bytes: LARGE, digest }]);
    const [intent] = await home.events("intent_accepted");
    assert.equal(intent?.["payload_sha256"], `sha256:${digest}`);
  },
);

test("more than the pack allows, and what stands for a file in gw call, are refused in words", skip, async () => {
  const before = received.length;
  const script = `head -c ${11 * MIB} /dev/zero > more; ${put("more")} | tr -d '\\n'; echo
head -c ${LARGE} /dev/zero > json; curl -sS -m 600 -T json -X POST -H 'content-type: application/json' -w '%{http_code}' ${origin}/v1/things | tr -d '\\n'; echo
${GW} call demo.file.put name=x content=spooled:5:sha256:${"0".repeat(64)} 2>&1`;
  const { out, err } = await contained(home, script);
  const [more = "", json = "", called = ""] = out.split("\n");
  assert.match(more, /body_too_large.*403$/, err);
  assert.match(json, /opaque.*403$/, err);
  assert.match(called, /value_not_allowed/);
  assert.equal(received.length, before);
});

test("an answer that streams is read while it comes, and the body is let go at its end", skip, async () => {
  const scan = `curl -sS -m 120 -T up -X POST -H 'content-type: application/octet-stream' ${origin}/v1/scans | wc -c`;
  const script = `head -c ${LARGE} /dev/zero > up; for n in 1 2 3; do ${scan}; done`;
  const { out, err } = await contained(home, script);
  assert.deepEqual(out.trim().split(/\s+/), Array(3).fill(String(LARGE)), err);
});

test(
  "of three at once one is refused; who hangs up leaves nothing behind, and the next has its place",
  skip,
  async () => {
    const before = received.length;
    const waitFor = (file: string) => `while [ ! -e ${file} ]; do sleep 0.1; done`;
    const script = `head -c ${LARGE} /dev/zero > left; for n in 1 2 3; do ${put("left")} > told.$n & done
${waitFor("stop")}; kill $(jobs -p); wait; cp left comes-later; while ${put("comes-later")} | grep -q too_many_requests; do sleep 0.1; done; ${waitFor("done")}`;
    const run = startContained(home, ["bash", "-c", script], { extra: ["--attempts", "30"] });
    await approveRun(home, run);
    const work = (name: string) => join(workOf(home), name);
    // Who is third is refused because two have arrived; those are asked about one after the other.
    const told = () => [1, 2, 3].map((n) => readText(work(`told.${n}`)));
    await until("one is refused", () => told().some((text) => text.includes("too_many_requests")));
    assert.equal(told().filter((text) => text === "").length, 2);
    await home.approvals();
    writeFileSync(work("stop"), "");
    await until("only the next is asked about", async () => {
      const waiting = await home.approvals(0);
      return waiting.length === 1 && JSON.stringify(waiting).includes("comes-later");
    });
    assert.deepEqual(readdirSync(join(home.folder, "spool")), []);
    writeFileSync(work("done"), "");
    run.child.kill("SIGKILL");
    await within(run.exited, 120_000, "it ends");
    assert.equal(received.length, before);
  },
);

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
