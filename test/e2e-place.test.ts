import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { answerJson } from "./support/consequential.ts";
import { asUser, call, codeOf, type Gateway, Home, makeFolder, openPlane, openRun } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const PACK = `format: gw.pack/v1
pack: forge
provider: { origin: "https://api.forge.example", credential: forge-token, auth: { scheme: bearer } }
actions:
  tag.set:
    effect: write
    request: { method: PUT, path: "/tags/{_id}", body: application/json }
    input:
      _id: { in: path, type: string }
      version: { in: body, whole: true, type: string }
`;

describe("a pack for an installation of one's own", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    provider = await startProvider();
    provider.answer((_request, response) => answerJson(response, 200, {}));
    home = await new Home(makeFolder()).init();
    await home.addCredential("forge-token", provider.origin);
    await home.trustPack("forge", PACK);
    gateway = await home.up();
  });
  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  test("is reached where an operator signed, below its base path, with names and a bare body as the provider has them", async () => {
    const placed = ["pack", "place", "forge", "--origin", provider.origin];
    assert.equal(codeOf(await home.operator([...placed, "--base-path", "/api/v3"])), "pack_place_invalid");
    await home.must([...placed, "--base-path", "/api/v3", "--network", "private"]);
    const shown = await home.run(["pack", "show", "forge"]);
    assert.ok(shown.out.includes(`reached at   ${provider.origin}/api/v3 (private)`), shown.out);
    const agent = openPlane(home.agentSocket);
    try {
      const run = await openRun(home, agent, ["forge.tag.set"]);
      const done = await call(agent, run, "forge.tag.set", { _id: "latest", version: "1.2.3" });
      assert.equal(done.body["outcome"], "success", done.text);
      const [sent] = provider.received;
      assert.deepEqual([sent?.method, sent?.url, sent?.body], ["PUT", "/api/v3/tags/latest", '"1.2.3"']);
      await home.must(["pack", "place", "forge"]);
      const after = await call(agent, run, "forge.tag.set", { _id: "latest", version: "1.2.4" });
      assert.equal(after.body["code"], "action_not_permitted", "the session was for the other place");
      assert.equal(provider.received.length, 1);
    } finally {
      agent.close();
    }
    const changed = JSON.stringify(await home.events("policy_changed"));
    assert.match(changed, /place of pack forge added.*place of pack forge removed/);
    assert.equal(
      codeOf(await home.operator(["pack", "place", "nobody", "--origin", "https://x.example"])),
      "not_found",
    );
  });
});
