import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const MINTED = "minted-token-0123456789-abcdefghij";

describe("a secret that an answer brings", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("acme", provider.origin);
    await home.trustPack(
      "acme",
      `format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", credential: acme, auth: { scheme: bearer } }
actions:
  token.create:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/tokens, body: application/json }
    input: { name: { in: body, type: string } }
    mints: [/secret]
`,
    );
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("is kept from the agent, found by an operator, and taken over into the vault once", async () => {
    provider.answer((_request, response) => {
      response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ secret: MINTED }));
    });
    const run = await openRun(home, agent, ["acme.token.create"]);
    const made = await call(agent, run, "acme.token.create", { name: "ci" });
    assert.equal(made.body["outcome"], "success", made.text);
    assert.ok(!made.text.includes(MINTED));
    const [minted] = JSON.parse((await home.must(["credential", "minted", "--json"])).out) as readonly Members[];
    const id = idOf(minted, "minted_id");
    assert.equal(((made.body["response"] as Members)["body"] as Members)["secret"], `minted secret ${id}`);
    const stored = await home.must(["credential", "adopt", id, "acme-ci", "--origin", provider.origin]);
    assert.ok(!`${stored.out}${stored.err}`.includes(MINTED));
    const labels = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    assert.ok(labels.some(({ label }) => label === "acme-ci"));
    assert.deepEqual(JSON.parse((await home.must(["credential", "minted", "--json"])).out), []);
    const again = await home.run(["credential", "adopt", id, "acme-two", "--origin", provider.origin]);
    assert.deepEqual([again.code, codeOf(again)], [1, "credential_unknown"]);
  });

  test("becomes any kind that it is one of, and stays where it was when it is not", async () => {
    const run = await openRun(home, agent, ["acme.token.create"]);
    await call(agent, run, "acme.token.create", { name: "second" });
    const [minted] = JSON.parse((await home.must(["credential", "minted", "--json"])).out) as readonly Members[];
    const id = idOf(minted, "minted_id");
    const adopt = (label: string, more: readonly string[]) =>
      home.operator(["credential", "adopt", id, label, "--origin", provider.origin, ...more]);
    for (const more of [
      ["--kind", "aws-sigv4"],
      ["--kind", "bearer", "--source-systemd", "x"],
      ["--kind", "header"],
    ]) {
      const refused = await adopt("acme-other", more);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "credential_invalid"], refused.err);
    }
    const endpoint = ["--token-endpoint", "https://login.acme.example/token", "--client-id", "ci"];
    const stored = await adopt("acme-client", ["--kind", "oauth2", "--scope", "a", ...endpoint]);
    assert.equal(stored.code, 0, stored.err);
    const labels = JSON.parse((await home.run(["credential", "list", "--json"])).out) as readonly Members[];
    assert.equal(labels.find(({ label }) => label === "acme-client")?.["kind"], "oauth2");
    await call(agent, run, "acme.token.create", { name: "third" });
    const [third] = JSON.parse((await home.must(["credential", "minted", "--json"])).out) as readonly Members[];
    const vault = ["--kind", "bearer", "--source-vault", "https://vault.acme.example/v1/secret/data/ci"];
    const bound = ["--origin", provider.origin, ...vault];
    await home.must(["credential", "adopt", idOf(third, "minted_id"), "acme-opener", ...bound]);
    assert.deepEqual(JSON.parse((await home.must(["credential", "minted", "--json"])).out), []);
  });

  test("stands in no file of the home in a form that can be read", () => {
    for (const name of readdirSync(home.folder, { recursive: true, encoding: "utf8" })) {
      let bytes: Buffer;
      try {
        bytes = readFileSync(join(home.folder, name));
      } catch {
        continue;
      }
      for (const form of [
        MINTED,
        Buffer.from(MINTED).toString("base64").slice(0, -4),
        Buffer.from(MINTED).toString("hex"),
      ]) {
        assert.ok(!bytes.includes(form), name);
      }
    }
  });
});
