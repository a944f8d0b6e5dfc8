import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  type Plane,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

describe("an agent cannot give itself a budget", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    await home.must(["policy", "set", "run_spend_cents", "500"]);
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
  });
  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("a run that asks for a million dollars gets what an operator signed, whoever approves it", async () => {
    const opened = await agent.ask("POST", "/v1/runs", {
      purpose: "rich",
      actions: ["demo.thing.get"],
      budget: { spend_cents: 100_000_000, attempts: 10_000 },
    });
    const run = idIn(opened, "run_id");
    const [asked] = await home.approvals();
    await home.approve(idOf(asked, "approval_id"));
    const shown = await agent.ask("GET", `/v1/runs/${run}`);
    assert.equal((shown.body["budget"] as Members)["spend_remaining_cents"], 500, shown.text);
    const first = await call(agent, run, "demo.thing.get", { id: "1" });
    assert.equal(first.body["outcome"], "success", first.text);
    await home.must(["policy", "set", "run_attempts", "1"]);
    const code = await until("the narrower ceiling holds in the run that stands", async () => {
      const { body } = await call(agent, run, "demo.thing.get", { id: "2" });
      return body["code"] !== undefined && String(body["code"]);
    });
    assert.equal(code, "attempts_exhausted");
  });

  test("no setting lets sessions begin without a person: that takes a grant, with its bounds", async () => {
    const refused = await home.operator(["policy", "set", "session_approval", "off"]);
    assert.deepEqual([refused.code, codeOf(refused)], [2, "value_not_allowed"]);
    assert.match(refused.err, /session_approval is gone.*gw grant add/);
  });

  test("a ceiling is a whole number within bounds, and policy show tells it", async () => {
    for (const word of ["1.5", "lots", "999999999999"]) {
      const refused = await home.operator(["policy", "set", "day_spend_cents", word]);
      assert.match(refused.err, /value_not_allowed/, word);
    }
    const standard = await home.must(["policy", "set", "day_spend_cents", "standard"]);
    assert.match(standard.out, /standard again, 100000/);
    const rows = JSON.parse((await home.run(["policy", "show", "--json"])).out) as Members[];
    assert.equal(rows.find(({ ceiling }) => ceiling === "run_spend_cents")?.["value"], 500);
    assert.equal(rows.find(({ ceiling }) => ceiling === "day_spend_cents")?.["value"], "standard");
    assert.match((await home.run(["policy", "show"])).out, /^day_spend_cents {2}standard, 100000$/m);
  });
});
