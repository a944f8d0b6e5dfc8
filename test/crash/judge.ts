import assert from "node:assert/strict";
import { createPrivateKey, createSecretKey } from "node:crypto";
import { join } from "node:path";
import { systemRandom } from "../../src/adapters/platform/system.ts";
import { openStateStore } from "../../src/adapters/store/sqlite/state.ts";
import type { AuditEvent } from "../../src/audit/event.ts";
import { openReader } from "../../src/audit/read/reader.ts";
import { verifyLog } from "../../src/audit/verify/verify.ts";
import { operationStates } from "../../src/conventions/operation/state.ts";
import type { StateRow } from "../../src/gateway/ports.ts";
import type { JsonObject } from "../../src/kernel/json.ts";
import { type Remains, unsplit } from "./campaign.ts";

interface Found {
  readonly remains: Remains;
  readonly events: readonly AuditEvent[];
  rows(table: StateRow["table"], ...states: readonly string[]): readonly StateRow[];
}

/** What must hold wherever the gateway was killed, from the log, the store, the provider and what the agent was told. */
export async function judge(remains: Remains): Promise<void> {
  const audit = join(remains.folder, "audit");
  const verified = await verifyLog({ folder: audit, allowUnattested: true });
  assert.deepEqual([verified.firstBreach, verified.exit], [null, 0], "the log verifies");
  const store = await openStateStore(join(remains.folder, "state.db"), createSecretKey(remains.stateKey), systemRandom);
  try {
    const rows = (table: StateRow["table"], ...states: readonly string[]): readonly StateRow[] =>
      states.flatMap((state) =>
        store.load(table, state).flatMap((row) => {
          assert.ok(!("tampered" in row));
          // What another gateway began is ended where that one's log is.
          return (row.body["worker"] ?? "audit") === "audit" ? [row] : [];
        }),
      );
    const found: Found = { remains, events: readEvents(audit, remains.privateKey), rows };
    everyIntentEnds(found);
    nothingToldIsLost(found);
    noEffectTwice(found);
    nothingIsLeftOpen(found);
    noBudgetComesBack(found);
    plansAreSpent(found);
    deploymentsAgree(found);
    stepsAreAsListed(found);
  } finally {
    await store.close();
  }
}

function readEvents(folder: string, privateKey: string): readonly AuditEvent[] {
  const events: AuditEvent[] = [];
  const reader = openReader(folder, createPrivateKey(privateKey));
  for (let items = reader.next(); items !== undefined; items = reader.next()) {
    for (const item of items) if (item.kind === "record") events.push(item.event);
  }
  reader.close();
  return events;
}

type Finished = Extract<AuditEvent, { readonly event_type: "action_finished" }>;

const of = <Type extends AuditEvent["event_type"]>(events: readonly AuditEvent[], type: Type) =>
  events.filter((event): event is Extract<AuditEvent, { event_type: Type }> => event.event_type === type);

/** Every intent has a completion; a second one only says again, after a restart, that nobody can be sure of the first. */
function everyIntentEnds({ events }: Found): void {
  const ends = Map.groupBy(of(events, "action_finished"), ({ attempt_id }) => String(attempt_id));
  const previews = new Set(of(events, "preview_finished").map(({ attempt_id }) => attempt_id));
  for (const { event_id } of of(events, "intent_accepted")) {
    const own = ends.get(event_id) ?? [];
    assert.ok(own.length >= 1, `${event_id} has no completion`);
    for (const again of own.slice(1)) assert.equal(again.outcome, "unknown", `${event_id} ended in two ways`);
  }
  for (const { event_id } of of(events, "preview_requested")) {
    assert.ok(previews.has(event_id), `the preview ${event_id} has no end`);
  }
  for (const session of of(events, "session_started")) {
    const ended = of(events, "session_ended").some(({ session_id }) => session_id === session.session_id);
    assert.ok(ended, `${session.session_id} never ended`);
  }
  for (const { run_id } of of(events, "run_started")) {
    assert.ok(
      of(events, "run_ended").some((ended) => ended.run_id === run_id),
      `${run_id} never ended`,
    );
  }
}

/** What an agent was told is in the log; an operation it was given is still there to read. */
function nothingToldIsLost({ remains, events }: Found): void {
  const ends = Map.groupBy(of(events, "action_finished"), ({ call_id }) => String(call_id));
  for (const told of remains.told) {
    if (told.kind === "result" && told.outcome === "success") {
      const outcomes = (ends.get(told.callId) ?? []).map(({ outcome }: Finished) => outcome);
      assert.ok(outcomes.includes("succeeded"), `${told.callId} was told and is not in the log`);
    }
    if (told.kind === "operation") {
      const seen = remains.told.filter((one) => one.kind === "found" && one.operationId === told.operationId);
      for (const one of seen) assert.notEqual(one.kind === "found" && one.state, "not_found", told.operationId);
    }
  }
}

/** One life asks for one thing: the provider did it once or not at all, and never what nobody can account for. */
function noEffectTwice({ remains, events }: Found): void {
  const work = remains.provider["operations"] ?? [];
  for (const tag of remains.lives.keys()) {
    const made = work.filter(({ request }) => String(request).includes(`"${tag}"`));
    assert.ok(made.length <= 1, `${tag} was done ${made.length} times`);
  }
  const deployed = (remains.provider["deployments"] ?? []).filter(({ actor_id }) => actor_id === "robot");
  const promised = of(events, "intent_accepted").filter(({ action }) => String(action).startsWith("reference.deploy"));
  assert.ok(deployed.length <= promised.length, "every deployment was asked for");
  const undone = Map.groupBy(deployed, ({ reason }) => String(reason));
  for (const tag of remains.lives.keys()) assert.ok((undone.get(tag) ?? []).length <= 1, `${tag} rolled back twice`);
}

/** A write that nobody saw the end of was reconciled or asks for a person, and what the record says is true. */
function nothingIsLeftOpen({ remains, events, rows }: Found): void {
  assert.deepEqual(rows("attempts", "sent", "unknown"), [], "no attempt is left on its way");
  assert.deepEqual(rows("runs", "open", "pending"), [], "no run survives");
  const work = remains.provider["operations"] ?? [];
  for (const row of rows("operations", ...operationStates)) {
    const { problem, input, callId } = row.body as unknown as {
      readonly problem: JsonObject | null;
      readonly input: JsonObject;
      readonly callId: string;
    };
    const settled = ["succeeded", "failed", "cancelled"].includes(row.state);
    assert.ok(settled || problem !== null, `${row.id} is ${row.state} and asks for nobody`);
    const tag = String(input["account"] ?? input["service"] ?? "");
    const made = work.filter(({ request }) => tag !== "" && String(request).includes(`"${tag}"`));
    if (tag !== "" && row.state === "succeeded") assert.equal(made.length, 1, `${row.id} claims what is not there`);
    const rejected = of(events, "reconciled_failure").some(({ call_id }) => call_id === callId);
    if (tag !== "" && rejected) assert.equal(made.length, 0, `${row.id} denies what is there`);
  }
}

/**
 * A run pays for what its program sends, which the log names by its process. What the gateway or an operator sends has an allowance
 * of its own, and so has a read for an operation, which goes by the key of whoever began it.
 */
function noBudgetComesBack({ events, rows }: Found): void {
  const runs = new Map(rows("runs", "ended").map(({ id, body }) => [id, body["budget"] as JsonObject]));
  const begun = of(events, "operation_transition").filter(({ from }) => from === null);
  const keys = new Map(begun.map(({ operation_id, actor }) => [operation_id, actor]));
  const senders = new Map(of(events, "intent_accepted").map(({ event_id, caller }) => [event_id, caller]));
  for (const { run_id, attempt, attempt_id, operation_id } of of(events, "budget_reserved")) {
    // A preview has no intent, and is always a program's.
    const sender = senders.get(String(attempt_id)) ?? "a program";
    const others = ["gateway", keys.get(String(operation_id))];
    if (others.includes(sender) || sender.startsWith("operator ")) continue;
    const budget = runs.get(run_id);
    assert.ok(budget !== undefined, `${run_id} has no row`);
    assert.ok(Number(budget["attemptsUsed"]) >= attempt, `${run_id} got attempts back`);
  }
}

function plansAreSpent({ remains, rows }: Found): void {
  assert.deepEqual(rows("plans", "previewed"), [], "no plan survives");
  for (const told of remains.told) {
    if (told.kind === "reused") assert.ok(["not_found", "plan_used", "plan_stale"].includes(told.code), told.code);
  }
  const executed = remains.provider["plan_executions"] ?? [];
  assert.equal(new Set(executed.map(({ plan_id }) => plan_id)).size, executed.length);
  const changed = Map.groupBy(remains.provider["memberships"] ?? [], ({ project_id, subject_id }) =>
    [project_id, subject_id].join(" "),
  );
  for (const [key, made] of changed) assert.equal(made.length, 1, key);
}

/** At most one deployment of an environment counts as current, and each is one that the provider made. */
function deploymentsAgree({ remains, rows }: Found): void {
  const known = rows("deployments", "current", "superseded", "rolled_back", "stale");
  assert.ok(known.filter(({ state }) => state === "current").length <= 1, "two current deployments");
  const made = new Map((remains.provider["deployments"] ?? []).map((one) => [String(one["deployment_id"]), one]));
  for (const { id, body } of known) {
    const provenance = body["provenance"] as JsonObject;
    const theirs = made.get(String(provenance["deployment_id"]));
    assert.ok(theirs !== undefined, id);
    for (const field of ["release_id", "prior_release_id", "created_target_generation", "environment"]) {
      assert.equal(provenance[field], theirs[field], `${id} ${field}`);
    }
  }
}

function stepsAreAsListed({ remains }: Found): void {
  for (const told of remains.told) {
    if (told.kind === "passed" && unsplit.has(told.step)) {
      assert.ok(!(told.log && told.store), `${told.step} writes to two places: it has a middle to be killed in`);
    }
  }
}
