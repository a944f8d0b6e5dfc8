import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, bodyOf, consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { grantFor } from "./support/grant.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let folder: string;
let target: { release: string; generation: number };
let promotion: JsonObject;
/** What the provider lets slip into its answers. */
let echoes: string | null;
/** What it calls its answers to promotions. */
let type: string;

const ACTIONS = ["acme.deployment.promote", "acme.deployment.rollback"];

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  target = { release: "sha256:r0", generation: 4 };
  echoes = null;
  type = "application/json";
  promotion = { reversibility: "reversible_at_application_level" };
  provider.answer((request, response) => {
    const body = bodyOf(request);
    if (request.url === "/v1/deployments/promote") {
      const prior_release_id = target.release;
      target = { release: String(body["release"]), generation: target.generation + 1 };
      const answer = {
        deployment_id: `dep-${target.generation}`,
        environment: body["environment"],
        release_id: target.release,
        prior_release_id,
        created_target_generation: target.generation,
        actor_id: "bot",
        capability: {
          capability_id: `${CAPABILITY}-${target.generation}`,
          route: "/v1/rollbacks",
          expires_at: "2030-01-01T00:00:00Z",
        },
        ...(echoes === null ? {} : { hint: echoes }),
        ...promotion,
      };
      return response.writeHead(201, { "content-type": type }).end(JSON.stringify(answer));
    }
    if (body["expected_target_generation"] !== target.generation) {
      return answerJson(response, 409, {
        error: "stale_rollback",
        origin_deployment_id: body["origin_deployment_id"],
        expected_target_generation: body["expected_target_generation"],
        observed_target_generation: target.generation,
        observed_release_id: target.release,
        hint: "try force=true",
      });
    }
    target = { release: String(body["restore_release_id"]), generation: target.generation + 1 };
    return answerJson(response, 200, {
      rollback_deployment_id: `dep-${target.generation}`,
      reverted_deployment_id: body["origin_deployment_id"],
      previous_release_id: body["expected_current_release_id"],
      current_release_id: target.release,
      target_generation: target.generation,
      status: "running",
    });
  });
  caller = scriptedCaller();
  await startGateway();
  run = await openApproved(caller);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(change = (pack: string): string => pack): Promise<void> {
  bench = await startBench(change(consequentialPack(provider.origin)), {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
}

async function openApproved(mine: ScriptedCaller): Promise<Run> {
  return bench.openApproved(mine, ACTIONS, { sideEffects: 20 });
}

const promote = (release: string, mine = caller, of = run): Promise<CallResult> =>
  bench.gateway.startCall(mine, of.id, {
    action: "acme.deployment.promote",
    input: { environment: "production", release },
  }).done;

const rollBack = (id: string, mine = caller, of = run) =>
  bench.gateway.startCall(mine, of.id, {
    action: "acme.deployment.rollback",
    input: { origin_deployment_id: id, reason: "it burns" },
  });

const rollbacksSent = () => provider.received.filter(({ url }) => url.includes("/rollbacks"));

test("a rollback is built from the stored link: the agent names the deployment and the reason alone", async () => {
  assert.equal((await promote("sha256:r1")).outcome, "success");
  const result = await rollBack("dep-5").done;
  assert.equal(result.outcome, "success");
  const [sent] = rollbacksSent();
  assert.ok(sent !== undefined);
  assert.equal(sent.url, "/v1/environments/production/rollbacks");
  const session = run.sessions.get(caller.key);
  assert.deepEqual(bodyOf(sent), {
    origin_deployment_id: "dep-5",
    reason: "it burns",
    expected_current_release_id: "sha256:r1",
    expected_target_generation: 5,
    restore_release_id: "sha256:r0",
    approval_id: session?.approvalId,
  });
  const forged = bench.gateway.startCall(caller, run.id, {
    action: "acme.deployment.rollback",
    input: { origin_deployment_id: "dep-5", reason: "x", restore_release_id: "sha256:evil" },
  });
  await assert.rejects(forged.done, (error) => error instanceof Denied);
});

const CAPABILITY = "cap-5ecret-0123456789";

/** Everything that this process and its files hold of the log and of memory, as text. */
const logged = (): string => JSON.stringify(bench.events());

test("a capability of the provider never reaches the agent or the log, and is dropped on a terminal state", async () => {
  const result = await promote("sha256:r1");
  assert.ok(!JSON.stringify(result).includes(CAPABILITY));
  const { body } = result.response ?? assert.fail();
  assert.equal((body as JsonObject)["deployment_id"], "dep-5");
  assert.equal(JSON.stringify(bench.rows("deployments", "current")).includes(CAPABILITY), true);
  assert.ok(!readFileSync(join(folder, "state.db")).includes(CAPABILITY), "its row is sealed");
  await rollBack("dep-5").done;
  const [row] = bench.rows("deployments", "rolled_back");
  assert.equal(row?.["capability"], null);
  assert.ok(!logged().includes(CAPABILITY));
});

test("nor where the very answer that brings it says it a second time", async () => {
  echoes = `/v1/rollbacks?capability=${CAPABILITY}-5`;
  const result = await promote("sha256:r1");
  assert.ok(!JSON.stringify(result).includes(CAPABILITY), JSON.stringify(result.response));
  const { deployment_id, hint } = (result.response ?? assert.fail()).body as JsonObject;
  assert.deepEqual([deployment_id, hint], ["dep-5", "/v1/rollbacks?capability=[credential]"]);
  assert.equal((await rollBack("dep-5").done).outcome, "success");
});

test("a promotion whose answer says its capability as a number too is done, and told without its answer", async () => {
  promotion = { ...promotion, capability: { capability_id: "4111222233334444" }, account: 4111222233334444 };
  const { outcome, response } = await promote("sha256:r1");
  assert.deepEqual([outcome, response?.body_kind, response?.body], ["success", "withheld", null]);
  assert.equal((await rollBack("dep-5").done).outcome, "success");
});

test("nor where the provider does not call its answer JSON, nor a tool in a box, which gets the rest of it", async () => {
  type = "text/plain";
  const { response, outcome } = await promote("sha256:r1");
  assert.deepEqual([outcome, response?.body_kind], ["success", "json"]);
  assert.ok(!JSON.stringify(response).includes(CAPABILITY));
  type = "application/json";
  const contained = { purpose: "test", actions: ACTIONS, contained: true } as const;
  const limits = { attempts: 9, sideEffects: 9, durationMs: 600_000, spendCents: 0 };
  const box = await bench.gateway.openRun(caller, { ...contained, limits });
  await bench.approve();
  await box.admission?.session;
  const { status, code, body } = await bench.gateway.answerContained(
    caller,
    box.id,
    {
      ...{
        origin: provider.origin,
        method: "POST",
        target: "/v1/deployments/promote",
        process: null,
        traceparent: null,
      },
      headers: [["content-type", "application/json"]],
      body: Buffer.from('{"environment":"production","release":"sha256:r2"}'),
    },
    () => undefined,
  );
  assert.deepEqual([status, code], [201, null], body.toString());
  const { deployment_id, capability } = JSON.parse(body.toString()) as JsonObject;
  assert.deepEqual([deployment_id, capability], ["dep-6", undefined]);
});

test("a capability that comes back in a later answer is withheld like any credential, until it is dropped", async () => {
  await promote("sha256:r1");
  echoes = `${CAPABILITY}-5`;
  const echoed = await promote("sha256:r2");
  assert.equal(echoed.response?.body_kind, "withheld");
  assert.equal(echoed.transport_observation.reason, "credential_echoed");
  assert.ok(!JSON.stringify(echoed).includes(CAPABILITY) && !logged().includes(CAPABILITY));
  echoes = Buffer.from(`${CAPABILITY}-5`).toString("base64");
  assert.equal((await promote("sha256:r3")).response?.body_kind, "withheld", "in any form");
  target = { release: "sha256:r1", generation: 5 };
  echoes = null;
  await rollBack("dep-5").done;
  echoes = `${CAPABILITY}-5`;
  promotion = { ...promotion, capability: null };
  assert.equal((await promote("sha256:r4")).response?.body_kind, "json", "it is nothing any more");
});

test("a capability survives a restart, sealed, and is looked for again", async () => {
  await promote("sha256:r1");
  await bench.close();
  await startGateway();
  run = await openApproved(caller);
  echoes = `${CAPABILITY}-5`;
  assert.equal((await promote("sha256:r2")).response?.body_kind, "withheld");
});

test("what ended is not taken into memory at unlock, and is found in the store by its id", async () => {
  for (const release of ["r1", "r2", "r3"]) await promote(`sha256:${release}`);
  await bench.close();
  const loaded: string[] = [];
  const found: string[] = [];
  bench = await startBench(consequentialPack(provider.origin), {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapStore: (store) => ({
      ...store,
      load(table, state) {
        if (table === "deployments") loaded.push(state);
        return store.load(table, state);
      },
      find(table, id) {
        if (table === "deployments") found.push(id);
        return store.find(table, id);
      },
    }),
  });
  assert.deepEqual(loaded, ["current"]);
  run = await openApproved(caller);
  await assert.rejects(rollBack("dep-5").done, (error) => {
    assert.ok(error instanceof Denied && error.code === "stale_rollback");
    assert.equal(error.extra["observed_target_generation"], 7);
    return true;
  });
  assert.deepEqual(found, ["acme/dep-5"]);
  const mine = rollBack("dep-7");
  await bench.approve();
  assert.equal((await mine.done).outcome, "success");
});

test("a 409 stale_rollback stops: observed values attached, no fallback, no second try", async () => {
  await promote("sha256:r1");
  target = { release: "sha256:other", generation: 9 };
  await assert.rejects(rollBack("dep-5").done, (error) => {
    assert.ok(error instanceof Denied && error.code === "stale_rollback");
    assert.deepEqual(error.extra, {
      error: "stale_rollback",
      origin_deployment_id: "dep-5",
      expected_target_generation: 5,
      observed_target_generation: 9,
      observed_release_id: "sha256:other",
    });
    assert.equal(error.retryAllowed, false);
    return true;
  });
  assert.equal(rollbacksSent().length, 1);
  await assert.rejects(rollBack("dep-5").done, (error) => {
    assert.ok(error instanceof Denied && error.code === "stale_rollback");
    const { observed_target_generation, observed_release_id, observed_at } = error.extra;
    assert.deepEqual(
      [observed_target_generation, observed_release_id, observed_at],
      [null, null, null],
      "the pack names no read that would show it",
    );
    return true;
  });
  assert.equal(rollbacksSent().length, 1, "it is not even sent again");
});

test("a target that is stale once an earlier try may have undone it is unknown, and nothing says that nothing changed", async () => {
  await promote("sha256:r1");
  let tries = 0;
  provider.answer((request, response) => {
    if (++tries === 1) return answerJson(response, 503, {});
    answerJson(response, 409, {
      error: "stale_rollback",
      origin_deployment_id: bodyOf(request)["origin_deployment_id"],
    });
  });
  const { done } = rollBack("dep-5");
  await untilDone(bench.time, 500, () => bench.rows("operations", "create_unknown").length === 1);
  const { outcome, response, operation_id } = await done;
  assert.deepEqual([outcome, response?.status, tries], ["unknown", 409, 2]);
  assert.notEqual(operation_id, null);
  assert.equal(bench.rows("deployments", "stale").length, 1, "whoever moved it, it is not what it was");
});

test("a rollback that the gateway itself knows to be stale says what the target is now, read for this answer, or that it was not", async () => {
  await bench.close();
  const release = "      release: { in: body, type: string, maxLength: 128 }\n";
  const reader = `${release}    confirm: environment.get
  environment.get:
    effect: read
    request: { method: GET, path: "/v1/environments/{environment}" }
    input: { environment: { in: path, type: string, maxLength: 64 } }
`;
  await startGateway((pack) => pack.replace(release, reader));
  run = await openApproved(caller);
  let answer = (): { readonly status: number; readonly body: JsonObject } => ({ status: 500, body: {} });
  let made = 4;
  provider.answer((request, response) => {
    if (request.method === "GET") return answerJson(response, answer().status, answer().body);
    const ids = { deployment_id: `dep-${++made}`, environment: "production", release_id: `sha256:r${made}` };
    answerJson(response, 201, { ...ids, created_target_generation: made, prior_release_id: "sha256:r0", ...promotion });
  });
  await promote("sha256:r5");
  await promote("sha256:r6");
  const refused = async (mine = caller, where = run, of = "dep-5"): Promise<Readonly<Record<string, unknown>>> => {
    const reads = () => provider.received.filter(({ method }) => method === "GET").length;
    const before = reads();
    const error = await rollBack(of, mine, where).done.then(
      () => assert.fail("it was not refused"),
      (cause: unknown) => cause,
    );
    assert.ok(error instanceof Denied && error.code === "stale_rollback", String(error));
    const { observed_target_generation: at, observed_release_id: what, observed_with } = error.extra;
    return { at, what, observed_with, reads: reads() - before };
  };
  answer = () => ({ status: 200, body: { environment: "production", generation: 12, release_id: "sha256:r12" } });
  const now = { at: 12, what: "sha256:r12", observed_with: "acme.environment.get", reads: 1 };
  assert.deepEqual(await refused(), now);
  // What the provider answered to the later promotion was seen too, and is said to be that.
  const promoted = { at: 6, what: "sha256:r6", observed_with: "acme.deployment.promote" };
  answer = () => ({ status: 200, body: { environment: "staging", generation: 12, release_id: "sha256:r12" } });
  assert.deepEqual(await refused(), { ...promoted, reads: 1 });
  answer = () => ({ status: 403, body: { environment: "production", generation: 12, release_id: "sha256:r12" } });
  assert.deepEqual(await refused(), { ...promoted, reads: 1 });
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  assert.deepEqual(await refused(), { ...promoted, reads: 0 }, "nobody is asked for the sake of a refusal");
  bench.credentials.set("acme-token", { eachUse: false, disabled: true, origin: provider.origin });
  assert.deepEqual(await refused(), { ...promoted, reads: 0 });
  const stranger = scriptedCaller();
  const theirs = await bench.openRun(stranger, ACTIONS);
  assert.deepEqual(await refused(stranger, theirs), { ...promoted, reads: 0 }, "whom nobody let in makes nobody read");
  await bench.close();
  await startGateway((pack) =>
    pack.replace(
      release,
      reader.replace("maxLength: 64 } }", "maxLength: 64 }, region: { in: query, type: string } }"),
    ),
  );
  run = await openApproved(caller);
  await promote("sha256:r7");
  await promote("sha256:r8");
  assert.deepEqual(await refused(caller, run, "dep-7"), { ...promoted, at: 8, what: "sha256:r8", reads: 0 });
  await bench.close();
  const asking = reader.replace("effect: read\n", "effect: read\n    needs: { approval: each_use }\n");
  await startGateway((pack) => pack.replace(release, asking));
  run = await openApproved(caller);
  await promote("sha256:r9");
  await promote("sha256:r10");
  assert.deepEqual(await refused(caller, run, "dep-9"), { ...promoted, at: 10, what: "sha256:r10", reads: 0 });
  assert.equal(rollbacksSent().length, 0);
});

test("a promotion whose answer was lost and later proven has its provenance, and can be rolled back", async () => {
  await bench.close();
  const release = "      release: { in: body, type: string, maxLength: 128 }\n";
  await startGateway((pack) => pack.replace(release, `${release}    unknown: { reconcile: token_retry }\n`));
  run = await openApproved(caller);
  const receipts = new Map<string, JsonObject>();
  let drops = 1;
  provider.answer((request, response) => {
    const key = String(request.headers["idempotency-key"]);
    if (request.url.includes("/rollbacks")) return answerJson(response, 200, { rollback_deployment_id: "dep-8" });
    const receipt = receipts.get(key) ?? {
      ...{ deployment_id: "dep-7", environment: "production", release_id: "sha256:r1", prior_release_id: "sha256:r0" },
      ...{ created_target_generation: 7, reversibility: "reversible_at_application_level" },
    };
    receipts.set(key, receipt);
    if (drops-- > 0) return response.destroy();
    answerJson(response, 201, receipt);
  });
  const lost = await promote("sha256:r1");
  assert.deepEqual([lost.outcome, lost.transport_observation.reason], ["unknown", "connection_lost"]);
  await untilDone(bench.time, 500, () => bench.rows("operations", "succeeded").length === 1);
  assert.equal(receipts.size, 1, "one request, told twice");
  assert.equal((await rollBack("dep-7").done).outcome, "success");
});

test("of a promotion whose answer was lost only what proves it gives its provenance", async () => {
  await bench.close();
  const release = "      release: { in: body, type: string, maxLength: 128 }\n";
  const found = `  deployment.get:
    effect: read
    request: { method: GET, path: "/v1/environments/{environment}" }
    input: { environment: { in: path, enum: [staging, production] } }
`;
  await startGateway((pack) =>
    pack
      .replace(release, `${release}    unknown: { reconcile: deployment.get }\n`)
      .replace("  deployment.rollback:\n", `${found}  deployment.rollback:\n`),
  );
  run = await openApproved(caller);
  const shown = {
    ...{ deployment_id: "dep-7", environment: "production", release_id: "sha256:r1", prior_release_id: "sha256:r0" },
    ...{ created_target_generation: 7, reversibility: "reversible_at_application_level" },
  };
  let there = "sha256:another";
  provider.answer(({ method }, response) =>
    method === "GET" ? answerJson(response, 200, { ...shown, release: there }) : response.destroy(),
  );
  const { operation_id } = await promote("sha256:r1");
  const look = () => bench.gateway.operations.reconcile(operation_id as OperationId, "ada");
  assert.equal((await look()).state, "create_unknown");
  await assert.rejects(rollBack("dep-7").done, denies("deployment_unknown"));
  there = "sha256:r1";
  assert.equal((await look()).state, "succeeded");
  assert.equal(bench.rows("deployments", "current").length, 1);
});

test("what is read where a redirect led is no receipt: no promotion is kept by it, and none is undone", async () => {
  await bench.close();
  const asked = "  redirects: { origins: [], others: ask }\nactions:\n";
  await startGateway((pack) => pack.replace("actions:\n", asked));
  run = await openApproved(caller);
  const receipt = (generation: number) => ({
    ...{ deployment_id: `dep-${generation}`, environment: "production", release_id: "sha256:r1" },
    ...{ prior_release_id: "sha256:r0", created_target_generation: generation, ...promotion },
  });
  let moved = false;
  provider.answer(({ method }, response) => {
    if (method === "POST" && moved) return void response.writeHead(303, { location: "/v1/elsewhere" }).end();
    answerJson(response, method === "POST" ? 201 : 200, receipt(method === "POST" ? 7 : 8));
  });
  assert.equal((await promote("sha256:r1")).outcome, "success");
  moved = true;
  const sentOn = async (calling: Promise<CallResult>): Promise<string> => {
    calling.catch(() => undefined);
    await bench.approve();
    return (await calling).outcome;
  };
  assert.equal(await sentOn(rollBack("dep-7").done), "unknown");
  assert.equal(await sentOn(promote("sha256:r2")), "unknown");
  assert.deepEqual(
    bench.rows("deployments", "current").map(({ provenance }) => (provenance as JsonObject)["deployment_id"]),
    ["dep-7"],
  );
});

test("after a newer release through the gateway the older one is stale without being sent", async () => {
  await promote("sha256:r1");
  await promote("sha256:r2");
  await assert.rejects(rollBack("dep-5").done, (error) => {
    assert.ok(error instanceof Denied && error.code === "stale_rollback");
    assert.deepEqual([error.extra["observed_target_generation"], error.extra["observed_release_id"]], [6, "sha256:r2"]);
    return true;
  });
  assert.equal(rollbacksSent().length, 0);
  assert.equal((await rollBack("dep-6").done).outcome, "success");
});

test("nobody comes to own a deployment by an answer that names it once more, nor one of another place than was asked for", async () => {
  await promote("sha256:r1");
  const [other, party] = [scriptedCaller(), promotion];
  const theirs = await openApproved(other);
  const promoteAs = (environment: string) =>
    bench.gateway.startCall(other, theirs.id, {
      action: "acme.deployment.promote",
      input: { environment, release: "sha256:r1" },
    }).done;
  promotion = { ...party, deployment_id: "dep-5", created_target_generation: 5, prior_release_id: "sha256:r0" };
  assert.equal((await promoteAs("production")).outcome, "success");
  rollBack("dep-5", other, theirs).done.catch(() => undefined);
  assert.match((await bench.waiting()).card?.call?.because.join() ?? "", /another run made this deployment/);
  await bench.deny("not yours");

  promotion = { ...party, environment: "production" };
  assert.equal((await promoteAs("staging")).outcome, "success");
  await assert.rejects(rollBack("dep-7", other, theirs).done, denies("deployment_unknown"));
});

test("a deployment that was replaced, or undone, while a person thought about undoing it is not undone", async () => {
  await promote("sha256:r1");
  const other = scriptedCaller();
  const theirs = await openApproved(other);
  const late = rollBack("dep-5", other, theirs);
  await bench.waiting();
  await promote("sha256:r2");
  await bench.approve();
  await assert.rejects(late.done, (error) => {
    assert.ok(error instanceof Denied && error.code === "stale_rollback");
    assert.deepEqual([error.extra["observed_target_generation"], error.extra["observed_release_id"]], [6, "sha256:r2"]);
    return true;
  });
  const twice = rollBack("dep-6", other, theirs);
  await bench.waiting();
  assert.equal((await rollBack("dep-6").done).outcome, "success");
  await bench.approve();
  await assert.rejects(twice.done, denies("stale_rollback"));
  assert.equal(rollbacksSent().length, 1);
});

test("what another gateway took over is not undone here", async () => {
  await promote("sha256:r1");
  await bench.gateway.fleet.release("web2", []);
  await assert.rejects(rollBack("dep-5").done, denies("operation_taken_over"));
  assert.equal(rollbacksSent().length, 0);
});

test("what another gateway takes over while a person thinks is not undone here", async () => {
  promotion = { reversibility: "needing_repair" };
  await promote("sha256:r1");
  const call = rollBack("dep-5");
  await bench.waiting();
  await bench.gateway.fleet.release("web2", []);
  await bench.approve();
  await assert.rejects(call.done, denies("operation_taken_over"));
  assert.equal(rollbacksSent().length, 0);
});

test("a rollback without an answer is unknown, and its deployment is not called stale", async () => {
  await promote("sha256:r1");
  provider.answer((_request, response) => void response.destroy());
  const { outcome, transport_observation } = await rollBack("dep-5").done;
  assert.deepEqual([outcome, transport_observation.reason], ["unknown", "connection_lost"]);
  assert.equal(bench.rows("deployments", "current").length, 1);
});

test("what is current by its row alone is stale where a newer one is known", async () => {
  await bench.close();
  bench = await startBench(consequentialPack(provider.origin), {
    folder,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    // As it stays where so many environments were promoted to that the older one was not held any more.
    wrapStore: (store) => ({
      ...store,
      find(table, id) {
        const row = store.find(table, id === "acme/dep-3" ? "acme/dep-5" : id);
        if (row === null || "tampered" in row || id !== "acme/dep-3") return row;
        const provenance = { ...(row.body["provenance"] as JsonObject), deployment_id: "dep-3" };
        return { ...row, id, body: { ...row.body, provenance } };
      },
    }),
  });
  run = await openApproved(caller);
  await promote("sha256:r1");
  await assert.rejects(rollBack("dep-3").done, denies("stale_rollback"));
  assert.equal(rollbacksSent().length, 0);
});

test("a rollback that may cost something asks no more than another where a person approved the session", async () => {
  await bench.close();
  await startGateway((pack) =>
    pack.replace("  deployment.rollback:\n", "  deployment.rollback:\n    max_cost_cents: 5\n"),
  );
  run = await bench.openApproved(caller, ACTIONS, { spendCents: 20 });
  await promote("sha256:r1");
  const { done } = rollBack("dep-5");
  let over = false;
  void done.finally(() => (over = true));
  await untilDone(bench.time, 0, () => over || bench.gateway.desk.list().length > 0);
  assert.deepEqual(bench.gateway.desk.list(), []);
  assert.equal((await done).outcome, "success");
});

test("whoever was let into the very run has a card of their own for what another of its callers made", async () => {
  await promote("sha256:r1");
  const joined = scriptedCaller();
  await bench.gateway.joinRun(joined, run.id);
  await bench.approve();
  await run.admission?.session;
  const call = rollBack("dep-5", joined);
  const { approvalId } = await bench.approve();
  assert.equal((await call.done).outcome, "success");
  assert.equal(bodyOf(rollbacksSent()[0] as never)["approval_id"], approvalId);
});

test("a rollback with a credential that asks on every use names the card of that use", async () => {
  await promote("sha256:r1");
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const call = rollBack("dep-5");
  const { approvalId } = await bench.approve();
  assert.equal((await call.done).outcome, "success");
  const [request = assert.fail()] = rollbacksSent();
  assert.equal(bodyOf(request)["approval_id"], approvalId);
});

test("another run's deployment needs a card of its own, whose approval the request names", async () => {
  await promote("sha256:r1");
  const other = scriptedCaller();
  const theirs = await openApproved(other);
  const call = rollBack("dep-5", other, theirs);
  const approval = await bench.waiting();
  assert.match(approval.card?.call?.because.join() ?? "", /another run made this deployment/);
  assert.equal(approval.card?.call?.arguments["approval_id"], approval.approvalId);
  assert.equal(approval.card?.call?.arguments["restore_release_id"], "sha256:r0");
  await bench.approve();
  assert.equal((await call.done).outcome, "success");
  assert.equal(bodyOf(rollbacksSent()[0] as never)["approval_id"], approval.approvalId);
});

test("a rollback asks in a granted session, whatever the grant includes, and what it would undo is not read without a person", async () => {
  await promote("sha256:r1");
  const limits = { attempts: 9, sideEffects: 9, durationMs: 600_000, spendCents: 0 };
  const includes = (["each_use_actions", "plans", "unpreviewed"] as const).map((kind) => ({ kind }));
  const effects = ["read", "write", "create", "send"] as const;
  bench.grants.push(grantFor(bench, "acme.deployment.*", { effects, includes, limits }));
  const nightly = scriptedCaller();
  const granted = await bench.openRun(nightly, ACTIONS, { sideEffects: 5 });
  await granted.admission?.session;
  assert.equal([...granted.sessions.values()][0]?.approvedBy, "grant nightly");
  const call = rollBack("dep-5", nightly, granted);
  const approval = await bench.waiting();
  assert.equal(approval.card?.call?.action, "acme.deployment.rollback");
  assert.equal(rollbacksSent().length, 0);
  await bench.approve();
  assert.equal((await call.done).outcome, "success");
  const sent = bench.eventsOf("intent_accepted");
  assert.match(String(sent.at(-1)?.authorization), /^each_use:apr_/, "a person's yes, and not the grant's");
  assert.equal((await promote("sha256:r2", nightly, granted)).outcome, "success");
  const own = rollBack("dep-7", nightly, granted);
  const { approvalId } = await bench.approve();
  assert.equal((await own.done).outcome, "success");
  assert.equal(bodyOf(rollbacksSent().at(-1) as never)["approval_id"], approvalId, "of its own deployment too");
});

test("what is classified as needing repair, or not classified at all, always asks before dispatch", async () => {
  for (const [index, said] of [{ reversibility: "needing_repair" }, {}, { reversibility: "perfect" }].entries()) {
    promotion = said;
    await promote(`sha256:n${index}`);
    const call = rollBack(`dep-${target.generation}`);
    const { card } = await bench.waiting();
    assert.match(card?.call?.because.join() ?? "", /needing repair/);
    assert.match(card?.notes.join() ?? "", /as classified and no further: needing repair/);
    await bench.approve();
    assert.equal((await call.done).outcome, "success");
  }
});

test("a denied rollback cools down although each question bears another approval", async () => {
  echoes = null;
  promotion = { reversibility: "needing_repair" };
  await promote("sha256:r1");
  const call = rollBack("dep-5");
  await bench.deny("not now");
  await assert.rejects(call.done, denies("approval_denied"));
  await assert.rejects(rollBack("dep-5").done, denies("approval_cooling_down"));
});

test("what was not made through the gateway, or has nothing before it, cannot be rolled back", async () => {
  await assert.rejects(rollBack("dep-99").done, denies("deployment_unknown"));
  promotion = { ...promotion, prior_release_id: null };
  await promote("sha256:r1");
  await assert.rejects(rollBack("dep-5").done, denies("rollback_impossible"));
  assert.equal(rollbacksSent().length, 0);
});

test("provenance survives a restart, and then a rollback is another run's", async () => {
  await promote("sha256:r1");
  await bench.close();
  await startGateway();
  const again = await openApproved(caller);
  const call = rollBack("dep-5", caller, again);
  const { card } = await bench.waiting();
  assert.match(card?.call?.because.join() ?? "", /another run made this deployment/);
  await bench.approve();
  assert.equal((await call.done).outcome, "success");
});
