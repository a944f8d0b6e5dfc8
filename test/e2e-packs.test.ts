import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { asUser, codeOf, demoPack, type Gateway, Home, makeFolder, until } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const MORE = `  thing.find:
    effect: read
    request: { method: GET, path: /v1/things }
    input:
      q: { in: query, type: string, maxLength: 64 }
`;

describe("a pack and its next version", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  test("is shown whole before anybody signs, with the credential that is missing", async () => {
    const shown = await home.run(["pack", "show", "demo"]);
    assert.match(shown.out, /^demo {2}trusted {2}sha256:/);
    assert.match(shown.out, /credential {3}demo-token: NOT IN THE VAULT \(gw credential add demo-token/);
    assert.match(shown.out, /read {6}demo\.thing\.get {2}GET \/v1\/things\/\{id\}/);
    const action = await home.run(["pack", "show", "demo", "thing.burn"]);
    assert.match(action.out, /name: string, in the body/);
    assert.match(action.out, /needs a person on every call/);
    assert.equal(codeOf(await home.run(["pack", "show", "demo", "nothing"])), "not_found");
  });

  test("is removed only where there is one: for a name that was mistyped nothing is signed", async () => {
    const policy = (): string => readFileSync(join(home.folder, "policy.json"), "utf8");
    const before = policy();
    for (const what of ["remove", "trust"])
      assert.equal(codeOf(await home.operator(["pack", what, "dmeo"])), "pack_unknown", what);
    assert.equal(codeOf(await home.run(["pack", "show", "dmeo"])), "pack_unknown");
    assert.equal(policy(), before);
  });

  test("waits when it was added again: the old one serves, and trusting says in words what differs", async () => {
    const file = join(makeFolder(), "demo.yaml");
    writeFileSync(file, demoPack(provider.origin, MORE));
    const added = await home.run(["pack", "add", file]);
    assert.equal(added.code, 0, added.err);
    assert.match((await home.run(["pack", "list"])).out, /^demo {2}NEW VERSION WAITS, the old one serves/m);
    await until("the gateway has seen it", async () =>
      JSON.stringify(await home.status()).includes("new version waits"),
    );
    const actions = (await home.run(["actions"])).out;
    assert.match(actions, /^demo\.thing\.get /m);
    assert.ok(!actions.includes("demo.thing.find"));
    const told = /action demo\.thing\.find: The pack has a new action\./;
    assert.match((await home.run(["pack", "show", "demo"])).out, told);
    const refused = await home.run(["pack", "trust", "demo"]);
    assert.equal(codeOf(refused), "upgrade_undecided", "before a passphrase is typed for it");
    assert.match(refused.err, told);
  });
});
