import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { renderCard } from "../src/conventions/approval/render.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { digestJson } from "../src/kernel/canonical-json.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { PlanId } from "../src/kernel/ids.ts";
import type { JsonObject, JsonValue } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, bodyOf, consequentialPack, previewBody } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;

const ACTIONS = ["acme.membership.plan", "acme.membership.apply"];
const INPUT = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(consequentialPack(provider.origin));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
  run = await openApproved();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(mine = caller, limits = {}): Promise<Run> {
  return bench.openApproved(mine, ACTIONS, limits);
}

/** A provider that previews, executes once, and shows what it did. */
function answerWell(role = "editor"): void {
  provider.answer((request, response) => {
    if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    if (request.url === "/memberships") return answerJson(response, 200, { mode: "executed", plan_id: "pln-remote-1" });
    return answerJson(response, 200, { project_id: "p1", subject_id: "u1", role, revision: "r8" });
  });
}

async function preview(
  input: JsonObject = INPUT,
): Promise<JsonObject & { plan_id: PlanId; expected_revision: string }> {
  const { plan } = await bench.gateway.startPlan(caller, run.id, { action: "acme.membership.apply", input }).done;
  assert.ok(plan !== undefined);
  return plan as never;
}

async function execute(planId: string, revision = "r7"): Promise<CallResult> {
  const call = bench.gateway.startExecution(caller, planId as PlanId, revision);
  let settled = false;
  call.done.catch(() => undefined).finally(() => (settled = true));
  await untilDone(bench.time, 0, () => settled || bench.gateway.desk.list().length > 0);
  if (!settled) await bench.approve();
  return call.done;
}

/** While the time passes that a provider is given to plan. */
async function slowly<Result>(work: Promise<Result>): Promise<Result> {
  let done = false;
  work.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 1_000, () => done);
  return work;
}

const sentPlans = (): number => provider.received.filter(({ url }) => url === "/memberships").length;

const types = (): readonly string[] => bench.events().map(({ event_type }) => event_type);

test("a preview is stored as a plan and executed with the plan identifier and expected revision alone", async () => {
  answerWell();
  const plan = await preview();
  assert.equal(plan.expected_revision, "r7");
  assert.notEqual(plan.plan_id, "pln-remote-1");
  const result = await execute(plan.plan_id);
  assert.deepEqual([result.outcome, result.confirmed], ["success", true]);
  const sent = provider.received.find(({ url }) => url === "/memberships");
  assert.ok(sent !== undefined);
  assert.deepEqual(bodyOf(sent), { plan_id: "pln-remote-1", expected_revision: "r7" });
  const [told, ...others] = bench.eventsOf("plan_executed");
  const intent = bench.eventsOf("intent_accepted").find(({ action }) => action === "acme.membership.apply");
  assert.deepEqual([told?.plan_id, told?.run_id, told?.call_id], [plan.plan_id, run.id, result.call_id]);
  assert.deepEqual([told?.parent_event_id, others], [intent?.event_id, []]);
});

test("an execution repeats the path of its plan, has the constants of its own, and nothing else that was previewed", async () => {
  await bench.close();
  const input = "{ project_id: { in: path, type: string, maxLength: 64 }, role: { in: body, const: owner } }";
  const request = "request: { method: POST, path: /memberships, body: application/json }";
  const own = `${request.replace("/memberships", '"/projects/{project_id}/memberships"')}\n    input: ${input}`;
  bench = await startBench(consequentialPack(provider.origin).replace(request, own));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  run = await openApproved();
  answerWell();
  const { plan_id } = await preview();
  await execute(plan_id);
  const sent = provider.received.find(({ url }) => url === "/projects/p1/memberships") ?? assert.fail();
  assert.deepEqual(bodyOf(sent), { plan_id: "pln-remote-1", expected_revision: "r7", role: "owner" });
});

test("an integer past 2^53 in a preview is shown and handed on by its digits", async () => {
  const body = JSON.stringify({ ...previewBody(), plan_id: "@", effects: [EFFECT] });
  provider.answer((_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(body.replaceAll('"@"', "9007199254740993").replaceAll('"#"', "1234567890123456789"));
  });
  const call = bench.gateway.startPlan(caller, run.id, { action: "acme.membership.apply", input: INPUT });
  const { plan, response } = await call.done;
  const effects = plan?.["effects"] as JsonObject[] | undefined;
  assert.deepEqual(effects?.[0]?.["sample"], [{ ...EFFECT, revision: null, proposed: { id: "1234567890123456789" } }]);
  const shown = response?.body as JsonObject | undefined;
  assert.equal(shown?.["plan_id"], plan?.["plan_id"]);
  assert.deepEqual((shown?.["effects"] as JsonObject[] | undefined)?.[0]?.["proposed"], { id: "1234567890123456789" });
  assert.ok(!JSON.stringify([plan, response]).includes("900719925474099"), "the provider's own name of it is hidden");
});

/** Its number is put in as the digits that it is. */
const EFFECT = { resource: "projects/p1", cause: "a step", previous: null, proposed: { id: "#" } };

test("the provider's own plan identifier and token reach no agent, wherever in the preview they stand", async () => {
  provider.answer((_request, response) => {
    response.setHeader("location", "/plans/pln-remote-1");
    const more = { plan_token: "tok/en 1", links: [{ execute: "/plans/pln-remote-1?token=tok%2Fen%201" }] };
    const effect = { resource: "projects/p1", cause: "step 1 of pln-remote-1", proposed: { plan: "pln-remote-1" } };
    const effects = [
      { relation: "direct", total: 9, sample: [effect], next_cursor: "/plans/pln-remote-1/effects?after=1" },
    ];
    const found = { severity: "warning", code: "slow", message: "see /plans/pln-remote-1" };
    const assumption = { dependency: "billing of pln-remote-1", assumed: "tok/en 1" };
    const said = { effects, validation: [found], assumptions: [assumption] };
    return answerJson(response, 200, { ...previewBody(), ...more, ...said });
  });
  const call = bench.gateway.startPlan(caller, run.id, { action: "acme.membership.apply", input: INPUT });
  const result = await call.done;
  const ours = String(result.plan?.["plan_id"]);
  assert.equal((result.response?.body as JsonObject | undefined)?.["plan_id"], ours);
  assert.equal(result.response?.headers["location"], `/plans/${ours}`);
  for (const theirs of ["pln-remote-1", "tok/en 1", "tok%2Fen"]) assert.ok(!JSON.stringify(result).includes(theirs));
});

test("the card shows direct and derived effects with previous and proposed values as a diff", async () => {
  answerWell();
  const plan = await preview();
  const call = bench.gateway.startExecution(caller, plan.plan_id, "r7");
  const { card } = await bench.waiting();
  assert.ok(card?.plan !== undefined && card.call !== null);
  assert.deepEqual(card.plan.arguments, INPUT);
  const lines = renderCard(card);
  const at = lines.indexOf("What the plan changes");
  const text = lines.slice(at).join("\n");
  assert.match(text, /changes directly\s+1\n\s+change projects\/p1\/memberships\/u1 at r3, because of "request"/);
  assert.match(text, /- role: "viewer"\n\s+\+ role: "editor"/);
  assert.match(text, /follows from that\s+40/);
  assert.match(text, /and 39 MORE that the provider counts/);
  assert.match(text, /WARNING\s+member_count_change/);
  await bench.approve();
  assert.equal((await call.done).outcome, "success");
});

test("a preview is audited on its own path and triggers none of the completed-change events", async () => {
  answerWell();
  await preview();
  const written = types();
  assert.equal(written.filter((type) => type === "preview_requested").length, 1);
  const finished = bench.events().find(({ event_type }) => event_type === "preview_finished");
  assert.ok(finished?.event_type === "preview_finished" && finished.outcome === "succeeded");
  assert.deepEqual(finished.read_revisions, [{ resource: "projects/p1", revision: "r7" }]);
  assert.equal(finished.effects_digest, digestJson(previewBody()["effects"] as JsonValue));
  for (const change of ["intent_accepted", "action_started", "transport_started", "action_finished"])
    assert.ok(!written.includes(change), change);
  assert.ok(written.includes("budget_reserved") && written.includes("budget_settled"), "a preview escapes no budget");
  assert.equal(run.budget.attemptsUsed, 1);
  assert.equal(run.budget.sideEffectAttempts, 0);
});

test("an answer that is not a 200 or 202 with mode: preview is not taken for a preview", async () => {
  const answers: readonly (readonly [number, unknown])[] = [
    [201, previewBody()],
    [200, { ...previewBody(), mode: "executed" }],
    [200, { plan_id: "x", executable: true }],
    [200, []],
    [204, ""],
    [200, { ...previewBody(), effects: "none" }],
    [200, { ...previewBody(), effects: [{ relation: "direct", total: 0, sample: [{}] }] }],
  ];
  for (const [status, body] of answers) {
    provider.answer((_request, response) => answerJson(response, status, body));
    await assert.rejects(preview(), denies("preview_invalid"));
  }
  provider.answer((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end('{"mode":"preview","mode":"preview"}'),
  );
  await assert.rejects(preview(), denies("preview_invalid"));
  const finished = bench.eventsOf("preview_finished");
  assert.equal(finished.length, answers.length + 1);
  assert.ok(finished.every((event) => event.event_type === "preview_finished" && event.outcome === "failed"));
});

test("a preview that takes time is followed to where it will be, until it is a plan or fails", async () => {
  let reads = 0;
  const answer = (last: () => readonly [number, unknown]) =>
    provider.answer((request, response) => {
      if (request.method === "GET" && ++reads > 2) return answerJson(response, ...last());
      response.writeHead(202, { "content-type": "application/json", location: "/v1/plans/p-1" });
      response.end(JSON.stringify({ mode: "preview", state: "planning" }));
    });
  answer(() => [200, previewBody()]);
  const plan = await slowly(preview());
  assert.equal(plan.executable, true);
  assert.deepEqual(
    provider.received.map(({ method, url }) => `${method} ${url.split("/").at(-2)}`),
    ["POST memberships", "GET plans", "GET plans", "GET plans"],
  );
  assert.deepEqual(
    bench.eventsOf("preview_finished").map(({ outcome, request }) => [outcome, request.status]),
    [...Array.from({ length: 3 }, () => ["unknown", 202]), ["succeeded", 200]],
  );
  reads = 0;
  answer(() => [200, { mode: "executed" }]);
  await assert.rejects(slowly(preview()), denies("preview_invalid"));
  provider.answer((_request, response) => {
    response.writeHead(202, { location: "https://elsewhere.example/plan" }).end();
  });
  const accepted = (error: unknown): boolean =>
    denies("preview_invalid")(error) && error instanceof Denied && error.extra["provider_status"] === 202;
  await assert.rejects(slowly(preview()), accepted, "and nowhere else");
  provider.answer((_request, response) => answerJson(response, 202, previewBody()));
  await assert.rejects(slowly(preview()), accepted, "accepted is no plan");
});

test("a preview that takes time leads to no request that would have to be asked for", async () => {
  await bench.close();
  const path = (name: string): string => `request: { method: GET, path: "/v1/hooks/{id}/${name}" }`;
  const input = "input: { id: { in: path, type: string, maxLength: 64 } }";
  const actions = [
    `  hook.fire:\n    effect: send\n    ${path("fire")}\n    ${input}`,
    `  hook.secret:\n    effect: read\n    needs: { approval: each_use }\n    ${path("secret")}\n    ${input}`,
    `  hook.show:\n    effect: read\n    ${path("show")}\n    ${input}`,
  ];
  bench = await startBench(`${consequentialPack(provider.origin)}\n${actions.join("\n")}\n`);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  run = await openApproved();
  let location = "";
  provider.answer((request, response) => {
    if (request.method === "GET") return answerJson(response, 200, previewBody());
    response.writeHead(202, { location, "retry-after": "0" }).end();
  });
  for (location of ["/v1/hooks/h1/fire", "/v1/hooks/%681/fire?now=1", "/v1/hooks/h1/secret", "/v1/hooks/%zz/fire"]) {
    await assert.rejects(slowly(preview()), denies("preview_invalid"), location);
  }
  assert.ok(provider.received.every(({ method }) => method === "POST"));
  location = "/v1/hooks/h1/show";
  assert.equal((await slowly(preview())).executable, true);
});

test("a preview that takes time asks for every look with a credential that asks on every use", async () => {
  let looks = 0;
  provider.answer((request, response) => {
    if (request.method === "GET" && ++looks > 1) return answerJson(response, 200, previewBody());
    response.writeHead(202, { location: "/v1/plans/p-1", "retry-after": "1" }).end();
  });
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const planning = preview();
  const targets: (string | undefined)[] = [];
  for (const sends of [1, 2, 3]) {
    await untilDone(bench.time, 100, () => bench.gateway.desk.list().length > 0);
    targets.push((await bench.waiting()).card?.call?.target.slice(provider.origin.length));
    assert.equal(provider.received.length, sends - 1);
    await bench.approve();
  }
  assert.deepEqual(targets, ["/v1/projects/p1/memberships/plan", "/v1/plans/p-1", "/v1/plans/p-1"]);
  assert.equal((await planning).executable, true);

  const again = preview();
  await bench.approve();
  looks = 0;
  await untilDone(bench.time, 100, () => bench.gateway.desk.list().length > 0);
  await bench.deny("not again");
  await assert.rejects(again, denies("preview_invalid"));
  assert.equal(looks, 0);
});

test("a preview that never becomes a plan is looked for so many times, and not once more", async () => {
  run = await openApproved(caller, { attempts: 4 * defaults.previewChecks });
  provider.answer((_request, response) => {
    response.writeHead(202, { location: "/v1/plans/p-1", "retry-after": "1" }).end();
  });
  const planning = preview();
  let done = false;
  planning.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 1_000, () => done);
  await assert.rejects(planning, (error) => {
    assert.ok(error instanceof Denied && error.code === "preview_invalid", String(error));
    assert.equal(error.extra["provider_status"], 202);
    return true;
  });
  assert.equal(provider.received.filter(({ method }) => method === "GET").length, defaults.previewChecks);
});

test("what two actions would carry out is planned by the name of one of them", async () => {
  await bench.close();
  const pack = consequentialPack(provider.origin);
  const apply = pack.slice(pack.indexOf("  membership.apply:"), pack.indexOf("  membership.get:"));
  bench = await startBench(pack.replace(apply, `${apply}${apply.replace("membership.apply", "membership.force")}`));
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  run = await openApproved();
  answerWell();
  const byPreview = bench.gateway.startPlan(caller, run.id, { action: "acme.membership.plan", input: INPUT });
  await assert.rejects(byPreview.done, denies("plan_required"));
  assert.equal((await preview())["action"], "acme.membership.apply");
});

test("a preview that the provider refuses is an error with its answer, and leaves no plan", async () => {
  provider.answer((_request, response) => answerJson(response, 403, { code: "insufficient_scope" }));
  const result = await bench.gateway.startPlan(caller, run.id, { action: "acme.membership.plan", input: INPUT }).done;
  assert.equal(result.outcome, "error");
  assert.equal(result.plan, undefined);
  assert.equal(result.response?.status, 403);
  provider.answer((_request, response) => void response.destroy());
  const lost = bench.gateway.startPlan(caller, run.id, { action: "acme.membership.plan", input: INPUT }).done;
  let done = false;
  void lost.finally(() => (done = true));
  await untilDone(bench.time, 1_000, () => done);
  assert.deepEqual([(await lost).outcome, (await lost).plan], ["error", undefined]);
  assert.deepEqual(
    bench.eventsOf("preview_finished").map(({ outcome, request }) => [outcome, request.status]),
    [["failed", 403], ...Array.from({ length: 3 }, () => ["failed", null])],
    "a read is tried three times",
  );
});

test("a preview that is too large for a card is refused, and one that just fits is not", async () => {
  let note = "";
  provider.answer((_request, response) => answerJson(response, 200, { ...previewBody(), note }));
  note = "x".repeat(defaults.previewBytes - JSON.stringify({ ...previewBody(), note }).length);
  assert.equal((await preview()).executable, true);
  note += "x";
  await assert.rejects(preview(), denies("preview_too_large"));
});

test("a preview that takes time is not looked for before the provider says", async () => {
  provider.answer((request, response) => {
    if (request.method === "GET") return answerJson(response, 200, previewBody());
    response.writeHead(202, { location: "/v1/plans/p-1", "retry-after": "30" }).end();
  });
  const pending = preview();
  await untilDone(bench.time, 0, () => types().includes("preview_finished"));
  await bench.time.advance(29_000);
  assert.equal(provider.received.length, 1);
  await untilDone(bench.time, 1_000, () => provider.received.length > 1);
  assert.equal((await pending).executable, true);
});

test("what no action previews has no plan", async () => {
  const other = scriptedCaller();
  const opened = await bench.openApproved(other, ["acme.thing.post", "acme.thing.get"]);
  for (const action of ["acme.thing.post", "acme.thing.get"]) {
    const call = (async () => bench.gateway.startPlan(other, opened.id, { action, input: {} }).done)();
    await assert.rejects(call, denies("plan_required"), action);
  }
  const nothing = bench.gateway.startPlan(other, opened.id, { action: "acme.thing.none", input: {} });
  await assert.rejects(nothing.done, denies("action_not_permitted"));
  assert.equal(provider.received.length, 0);
});

test("an action that needs a plan cannot be called without one, and a preview called plainly is still one", async () => {
  answerWell();
  const plain = bench.gateway.startCall(caller, run.id, { action: "acme.membership.apply", input: {} });
  await assert.rejects(plain.done, denies("plan_required"));
  assert.equal(provider.received.length, 0);
  const called = await bench.gateway.startCall(caller, run.id, { action: "acme.membership.plan", input: INPUT }).done;
  assert.ok(called.plan !== undefined);
  assert.ok(!types().includes("action_finished"));
});

test("both the preview and what it leads to must be in scope", async () => {
  const other = scriptedCaller();
  const narrow = await bench.openApproved(other, ["acme.membership.plan"]);
  const call = bench.gateway.startPlan(other, narrow.id, { action: "acme.membership.plan", input: INPUT });
  await assert.rejects(call.done, denies("action_not_permitted"));
});

test("a plan is used once, by two requests at the same time too", async () => {
  answerWell();
  const { plan_id } = await preview();
  assert.equal((await execute(plan_id)).outcome, "success");
  await assert.rejects(execute(plan_id), denies("plan_used"));
  const again = await preview();
  const first = bench.gateway.startExecution(caller, again.plan_id, "r7");
  const second = bench.gateway.startExecution(caller, again.plan_id, "r7");
  await bench.approve();
  await untilDone(bench.time, 0, () => first.state !== "pending");
  await bench.approve();
  const results = await Promise.allSettled([first.done, second.done]);
  assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  assert.equal(sentPlans(), 2);
});

test("another caller's plan is not found", async () => {
  answerWell();
  const { plan_id } = await preview();
  assert.throws(() => bench.gateway.startExecution(scriptedCaller(), plan_id, "r7"), denies("not_found"));
  // Whoever was let into the very run is another caller all the same.
  const joined = scriptedCaller();
  await bench.gateway.joinRun(joined, run.id);
  await bench.approve();
  await run.admission?.session;
  assert.throws(() => bench.gateway.startExecution(joined, plan_id, "r7"), denies("not_found"));
});

test("a plan expires after fifteen minutes, or with the provider's own expiry when that is sooner", async () => {
  let leftMs = 5_000;
  provider.answer((_request, response) => {
    const expires_at = new Date(bench.time.clock.wallMs() + leftMs).toISOString();
    answerJson(response, 200, previewBody({ expires_at }));
  });
  const { plan_id, expires_at } = await preview();
  assert.equal(expires_at, new Date(bench.time.clock.wallMs() + leftMs).toISOString());
  await bench.time.advance(5_001);
  await assert.rejects(execute(plan_id), (error) => {
    assert.ok(error instanceof Denied && error.code === "plan_stale");
    assert.deepEqual(error.extra["changed"], ["expires_at"]);
    return true;
  });
  leftMs = -1;
  await assert.rejects(execute((await preview()).plan_id), denies("plan_stale"));
  assert.equal(sentPlans(), 0);
});

test("a preview whose expiry cannot be read is none, for nobody knows how long it would stand", async () => {
  for (const expires_at of [
    "soon",
    "in 5 minutes",
    "2026-11-19",
    "2026-11-19T10:00:00",
    "2026-13-40T10:00:00Z",
    1_900_000_000,
  ]) {
    provider.answer((_request, response) => answerJson(response, 200, previewBody({ expires_at })));
    await assert.rejects(preview(), denies("preview_invalid"), String(expires_at));
  }
  provider.answer((_request, response) =>
    answerJson(response, 200, previewBody({ expires_at: "2099-01-01T10:00+01:00" })),
  );
  assert.ok((await preview()).plan_id);
});

test("a plan that expires while its card is open is not executed", async () => {
  provider.answer((_request, response) => {
    const expires_at = new Date(bench.time.clock.wallMs() + 5_000).toISOString();
    answerJson(response, 200, previewBody({ expires_at }));
  });
  const { plan_id } = await preview();
  const call = bench.gateway.startExecution(caller, plan_id, "r7");
  await bench.waiting();
  await bench.time.advance(6_000);
  await bench.approve();
  await assert.rejects(call.done, denies("plan_stale"));
  assert.equal(sentPlans(), 0);
});

test("another expected revision is plan_stale and names what changed, and the plan is spent", async () => {
  answerWell();
  const { plan_id } = await preview();
  await assert.rejects(execute(plan_id, "r6"), (error) => {
    assert.ok(error instanceof Denied && error.code === "plan_stale");
    assert.deepEqual(error.extra["changed"], ["expected_revision"]);
    return true;
  });
  await assert.rejects(execute(plan_id, "r7"), (error) => {
    assert.ok(error instanceof Denied && error.code === "plan_stale");
    assert.deepEqual(error.extra["changed"], ["plan"]);
    return true;
  });
  assert.equal(sentPlans(), 0);
  assert.equal((await execute((await preview()).plan_id)).outcome, "success");
});

test("a preview that names no revision is held to the request, by the provider's digest of it or by ours", async () => {
  for (const request_digest of ["sha256:ab", ""]) {
    provider.answer((request, response) => {
      const body = previewBody({ read_revisions: [], request_digest });
      answerJson(response, 200, request.url.endsWith("/plan") ? body : { mode: "executed" });
    });
    const { plan_id, expected_revision, request_digest: ours } = await preview();
    assert.equal(expected_revision, request_digest || ours);
    assert.equal((await execute(plan_id, expected_revision)).outcome, "success");
  }
});

test("plan_stale of the provider reaches the agent with what changed, and the plan is spent", async () => {
  provider.answer((request, response) => {
    if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    return answerJson(response, 409, { code: "plan_stale", changed: ["projects/p1"] });
  });
  const { plan_id } = await preview();
  await assert.rejects(execute(plan_id), (error) => {
    assert.ok(error instanceof Denied && error.code === "plan_stale");
    assert.deepEqual(error.extra["changed"], ["projects/p1"]);
    return true;
  });
  await assert.rejects(execute(plan_id), denies("plan_stale"));
  assert.equal(sentPlans(), 1, "it is asked once");
  const rejected = bench.events().find(({ event_type }) => event_type === "plan_rejected");
  assert.ok(rejected?.event_type === "plan_rejected");
  assert.deepEqual(rejected.changed, ["projects/p1"]);
  assert.ok(!types().includes("plan_executed"));
});

test("a provider says in several ways that a plan is stale, and nothing else is taken for it", async () => {
  const answers: readonly (readonly [number, unknown, readonly string[] | null])[] = [
    [412, {}, ["expected_revision"]],
    [412, { changed: ["projects/p1", 7] }, ["projects/p1"]],
    [412, { changed: Array.from({ length: 65 }, () => "x") }, Array.from({ length: 64 }, () => "x")],
    [409, { error: "version_conflict" }, []],
    [409, { code: "plan_stale", changed: "projects/p1" }, []],
    [409, { code: "quota" }, null],
    [409, null, null],
    [400, { code: "plan_stale" }, null],
  ];
  caller = scriptedCaller();
  run = await openApproved(caller, { sideEffects: answers.length });
  for (const [status, body, changed] of answers) {
    provider.answer((request, response) => {
      if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
      return answerJson(response, status, body);
    });
    const { plan_id } = await preview();
    const seen = await execute(plan_id).catch((error: unknown) => error);
    if (changed === null) assert.equal((seen as CallResult).outcome, "error", JSON.stringify(body));
    else {
      assert.ok(seen instanceof Denied && seen.code === "plan_stale", JSON.stringify(body));
      assert.deepEqual(seen.extra["changed"], changed);
    }
  }
  assert.deepEqual(bench.eventsOf("plan_executed"), []);
});

test("the store keeps all of a plan that waits, and digests of one that was used", async () => {
  answerWell();
  const { plan_id } = await preview();
  const [waits] = bench.rows("plans", "previewed");
  assert.deepEqual(waits?.["input"], INPUT);
  assert.equal((waits?.["preview"] as JsonObject | null)?.["mode"], "preview");
  assert.equal((await execute(plan_id)).outcome, "success");
  const [used] = bench.rows("plans", "executed");
  assert.deepEqual([used?.["input"], used?.["preview"]], [{}, null]);
});

test("a plan belongs to everything that a wrapper started", async () => {
  answerWell();
  const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 };
  const wrapper = scriptedCaller();
  run = await bench.gateway.openRun(wrapper, { purpose: "w", actions: ACTIONS, limits, descendants: true });
  await bench.approve();
  await run.admission?.session;
  caller = scriptedCaller({ parent: wrapper });
  const { plan_id } = await preview();
  caller = scriptedCaller({ parent: wrapper });
  assert.equal((await execute(plan_id)).outcome, "success");
});

test("what the preview calls not executable is not executed, whatever it says of the whole", async () => {
  const blocked = { severity: "error", code: "legal_hold_active", path: "", message: "held", blocks_execution: false };
  provider.answer((_request, response) => answerJson(response, 200, previewBody({ validation: [blocked] })));
  const plan = await preview();
  assert.equal(plan["executable"], false);
  await assert.rejects(execute(plan.plan_id), denies("plan_not_executable"));
  assert.equal(bench.gateway.desk.list().length, 0, "nobody is asked about what cannot run");
});

test("success is confirmed only when the later read shows the expected state", async () => {
  answerWell("viewer");
  const plan = await preview();
  const result = await execute(plan.plan_id);
  assert.deepEqual([result.outcome, result.confirmed], ["success", false]);
  assert.ok(!types().includes("reconciled_success"));
});

test("the confirming read is an attempt of its own, and without budget for it the success stays unconfirmed", async () => {
  answerWell();
  caller = scriptedCaller();
  run = await openApproved(caller, { attempts: 2 });
  const plan = await preview();
  const result = await execute(plan.plan_id);
  assert.deepEqual([result.outcome, result.confirmed], ["success", false]);
  assert.equal(run.budget.attemptsUsed, 2);
});

test("a credential that asks on every use confirms nothing that a person saw no card of", async () => {
  let marks = false;
  provider.answer(({ method }, response) => {
    const eachUse = marks && method === "POST";
    bench.credentials.set("acme-token", { eachUse, disabled: false, origin: provider.origin });
    return answerJson(response, 200, { id: "7", name: "new" });
  });
  run = await bench.openApproved(caller, ["acme.thing.change"]);
  const input = { id: "7", name: "new" };
  const change = () => bench.gateway.startCall(caller, run.id, { action: "acme.thing.change", input }).done;
  assert.equal((await change()).confirmed, true);
  marks = true;
  assert.equal((await change()).confirmed, false);
  assert.equal(provider.received.map(({ method }) => method).join(), "POST,GET,POST");
  const asked = change();
  await bench.approve();
  assert.equal((await asked).confirmed, true);
});

test("hostile text in a preview cannot pass for a line of the card", async () => {
  const effects = [
    {
      resource: "x\n\nApproved already\u202e",
      previous: "\u001b[2J",
      proposed: { 'a": "b"\n  + role': "owner" },
      cause: '"\n+ nothing',
    },
  ];
  provider.answer((_request, response) => answerJson(response, 200, previewBody({ effects })));
  const plan = await preview();
  void bench.gateway.startExecution(caller, plan.plan_id, "r7").done.catch(() => undefined);
  const { card } = await bench.waiting();
  assert.ok(card !== null);
  for (const line of renderCard(card)) assert.match(line, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
  assert.ok(!renderCard(card).some((line) => line.startsWith("Approved")));
});

test("a provider without preview asks on every use, and the card says why", async () => {
  await bench.close();
  const text = consequentialPack(provider.origin).replace("  thing.post:\n", "  thing.post:\n    preview: none\n");
  bench = await startBench(text);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  const opened = await bench.openApproved(caller, ["acme.thing.post"]);
  const call = bench.gateway.startCall(caller, opened.id, { action: "acme.thing.post", input: { name: "x" } });
  const { card } = await bench.waiting();
  assert.match(card?.call?.because.join() ?? "", /no preview/);
  await bench.approve();
  assert.equal((await call.done).outcome, "success");
});
