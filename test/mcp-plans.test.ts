import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { type Members, openWire, soon, type Wire, waiting } from "./mcp-stand.ts";
import { answerJson, bodyOf, consequentialPack, previewBody } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let wire: Wire;

const INPUT = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(consequentialPack(provider.origin));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  wire = await openWire(bench);
  provider.answer((request, response) => {
    if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    if (request.url === "/memberships") return answerJson(response, 200, { mode: "executed", plan_id: "pln-remote-1" });
    return answerJson(response, 200, { project_id: "p1", subject_id: "u1", role: "editor", revision: "r8" });
  });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function approve(): Promise<void> {
  await waiting(bench);
  await bench.approve();
}

async function preview(): Promise<Members> {
  const called = wire.call("acme__membership-plan", INPUT);
  await approve();
  return (await called).structuredContent["plan"] as Members;
}

test("a tool that carries out a plan takes the plan and its revision, and no second copy of the request", async () => {
  const { tools } = (await wire.request("tools/list"))["result"] as {
    tools: readonly { name: string; description: string; inputSchema: { properties: object } }[];
  };
  const apply = tools.find(({ name }) => name === "acme__membership-apply");
  assert.deepEqual(Object.keys(apply?.inputSchema.properties ?? {}), ["plan_id", "expected_revision"]);
  assert.match(apply?.description ?? "", /call acme__membership-plan first/);
});

test("an agent previews with one tool and carries out the plan with another, and the person sees the plan", async () => {
  const { plan_id, expected_revision } = await preview();
  const applied = wire.call("acme__membership-apply", { plan_id, expected_revision });
  const { card } = await waiting(bench);
  assert.deepEqual(card?.plan?.arguments, INPUT);
  await approve();
  const { structuredContent } = await applied;
  assert.deepEqual([structuredContent["outcome"], structuredContent["confirmed"]], ["success", true]);
  const sent = provider.received.find(({ url }) => url === "/memberships");
  assert.ok(sent !== undefined);
  assert.deepEqual(bodyOf(sent), { plan_id: "pln-remote-1", expected_revision: "r7" });
});

test("without a plan, with another tool's plan or with other arguments nothing is sent and nobody is asked", async () => {
  for (const input of [INPUT, {}, { plan_id: "plan_x", expected_revision: "r7" }]) {
    const { isError, structuredContent } = await wire.call("acme__membership-apply", input);
    assert.equal(isError, true);
    assert.ok(["schema_violation", "not_found"].includes(String(structuredContent["code"])));
  }
  assert.deepEqual(bench.gateway.desk.list(), []);
  const { plan_id, expected_revision } = await preview();
  const other = await openWire(bench);
  const foreign = await other.call("acme__membership-apply", { plan_id, expected_revision });
  assert.equal(foreign.structuredContent["code"], "not_found");
  const denied = await soon("the denials", () => {
    const found = bench.eventsOf("call_denied");
    return found.length === 4 && found;
  });
  assert.ok(denied.every((event) => "action" in event && event.action === "acme.membership.apply"));
  assert.equal(provider.received.filter(({ url }) => url === "/memberships").length, 0);
});

test("a stale revision is denied as plan_stale", async () => {
  const { plan_id } = await preview();
  const { structuredContent } = await wire.call("acme__membership-apply", { plan_id, expected_revision: "r6" });
  assert.equal(structuredContent["code"], "plan_stale");
});

test("a rollback may be the first call of a bridge, and stands on the card that asks for its session", async () => {
  const promoted = {
    ...{ deployment_id: "dep-5", environment: "staging", release_id: "sha256:r1", prior_release_id: "sha256:r0" },
    ...{ created_target_generation: 5, reversibility: "reversible_at_application_level" },
  };
  const undone = { rollback_deployment_id: "dep-6", reverted_deployment_id: "dep-5", target_generation: 6 };
  provider.answer((request, response) =>
    request.url === "/v1/deployments/promote"
      ? answerJson(response, 201, promoted)
      : answerJson(response, 200, { ...undone, status: "running" }),
  );
  const made = wire.call("acme__deployment-promote", { environment: "staging", release: "sha256:r1" });
  await approve();
  assert.equal((await made).structuredContent["outcome"], "success");
  wire.peer.end();
  const next = await openWire(bench);
  const undo = next.call("acme__deployment-rollback", { origin_deployment_id: "dep-5", reason: "it is broken" });
  const { card } = await soon("an answer or a card", () => bench.gateway.desk.list().at(-1));
  assert.equal(card?.call?.arguments["restore_release_id"], "sha256:r0");
  await bench.approve();
  const { structuredContent } = await undo;
  assert.equal(structuredContent["outcome"], "success", JSON.stringify(structuredContent));
});
