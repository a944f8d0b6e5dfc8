import type { NewEvent } from "../audit/event.ts";
import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { firstIdAt } from "../kernel/ids.ts";
import type { JsonObject, JsonValue } from "../kernel/json.ts";
import { claimOld } from "./claim-old.ts";
import { ASKED, errandId } from "./operation/errand.ts";
import type { OperationNeeds } from "./operation/needs.ts";
import { operationRow } from "./operation/operation-row.ts";
import type { Operation } from "./operation/operations.ts";
import { recoverClaims } from "./operation/recover-claims.ts";
import { adoptAttempt, adoptResumed, recoverOperations } from "./operation/recover-operations.ts";
import type { StateRow, StateStore } from "./ports.ts";
import { readDeployment } from "./rollback/deployments.ts";

/**
 * After a start: every intent without a completion becomes `unknown`, every run that was open is over, and no session
 * survives. Budgets are not refunded. A row that does not authenticate is reported and never used.
 */
export async function recover(
  core: OperationNeeds,
  store: StateStore,
): Promise<{ readonly unknown: number; readonly runs: number; readonly operations: readonly Operation[] }> {
  const own = (row: StateRow | { readonly tampered: string }): boolean =>
    "tampered" in row || (row.body["worker"] ?? core.worker) === core.worker;
  const { attempts, ...taken } = takeUp(core, store, own);
  const events = [...taken.events];
  const rows = [...taken.rows];
  const operations = [...taken.operations];
  rows.push(...claimOld(core, store, operations, rows));
  // Only what can still be undone is taken into memory; whatever ended is looked up by its id.
  for (const row of store.load("deployments", "current")) {
    if ("tampered" in row) events.push({ ...core.envelope("state_tampered"), table: "deployments", row: row.tampered });
    else core.deployments.put(readDeployment(row));
  }
  for (const row of store.load("plans", "previewed").filter(own)) {
    if ("tampered" in row) events.push({ ...core.envelope("state_tampered"), table: "plans", row: row.tampered });
    else rows.push({ ...row, state: "rejected", body: { ...row.body, preview: null, input: {} } });
  }
  const runs = [...store.load("runs", "open"), ...store.load("runs", "pending")].filter(own);
  for (const row of runs) {
    if ("tampered" in row) {
      events.push({ ...core.envelope("state_tampered"), table: "runs", row: row.tampered });
      continue;
    }
    events.push(...ended(core, row));
    rows.push({ ...row, state: "ended", body: { ...row.body, sessions: [], end_reason: "gateway_restarted" } });
  }
  if (events.length > 0) {
    const unknown = rows.filter(({ table, state }) => table === "attempts" && state === "tracked").length;
    const counts = { unfinished: attempts.length, unknown, resumed: operations.length };
    events.push({ ...core.envelope("recovery_finished"), ...counts });
  }
  if (events.length > 0 || rows.length > 0) await core.ledger.record("recovery.finished", events, rows);
  forgetOld(core, store);
  return { unknown: attempts.length, runs: runs.length, operations };
}

interface TakenUp {
  readonly operations: readonly Operation[];
  readonly events: readonly NewEvent[];
  readonly rows: readonly StateRow[];
}

/** Operations go on from their rows, and what was sent and not answered becomes one. */
export function takeUp(
  core: OperationNeeds,
  store: StateStore,
  own: (row: StateRow | { readonly tampered: string }) => boolean,
): TakenUp & { readonly attempts: readonly unknown[] } {
  const resumed = recoverOperations(core, store);
  const events: NewEvent[] = [...resumed.events];
  const rows: StateRow[] = [...resumed.rows];
  const operations = [...resumed.operations];
  // What was unknown already and is nobody's operation yet was left between two writes.
  const attempts = [...store.load("attempts", "sent"), ...store.load("attempts", "unknown")].filter(own);
  /** One operation for one call, however many tries of it were left without an answer. */
  const adoptedCalls = new Map<string, string>();
  for (const row of attempts) {
    if ("tampered" in row) {
      events.push({ ...core.envelope("state_tampered"), table: "attempts", row: row.tampered });
      continue;
    }
    if (row.state === "sent")
      events.push(...(row.body["preview"] === true ? [unseen(core, row)] : unobserved(core, row)));
    const adopted = adoptedCalls.has(text(row.body["call_id"]))
      ? null
      : (adoptAttempt(core, row) ?? adoptResumed(core, store, row));
    if (adopted !== null) {
      events.push(...adopted.events);
      rows.push(operationRow(core, adopted.operation));
      operations.push(adopted.operation);
      adoptedCalls.set(adopted.operation.callId, adopted.operation.id);
    }
    rows.push({ ...row, state: "tracked", body: {}, over: true });
  }
  const claims = recoverClaims(core, store, own, adoptedCalls);
  events.push(...claims.events);
  rows.push(...claims.rows);
  operations.push(...claims.operations);
  return { operations, events, rows, attempts };
}

/** State is for what can still matter; what happened stands in the log. */
function forgetOld({ ports }: Pick<OperationNeeds, "ports">, store: StateStore): void {
  const beforeMs = ports.clock.wallMs() - defaults.endedStateKeptMs;
  store.forget("runs", ["ended", "probe"], firstIdAt("run", beforeMs));
  store.forget("plans", ["executed", "rejected"], firstIdAt("plan", beforeMs));
  store.forget("operations", ["succeeded", "failed", "cancelled"], firstIdAt("op", beforeMs));
  // Twice as long as one is taken: no clock that is set back makes it new.
  store.forget("notes", [ASKED], errandId(ports.clock.wallMs() - 2 * defaults.errandMs));
}

/** A preview that nobody saw the answer of changed nothing; its path says that there is no plan. */
function unseen(core: Pick<OperationNeeds, "envelope">, row: StateRow): NewEvent {
  return {
    ...core.envelope("preview_finished"),
    run_id: row.runId,
    parent_event_id: row.id,
    attempt_id: row.id,
    call_id: text(row.body["call_id"]),
    session_id: text(row.body["session_id"]),
    plan_id: null,
    executable: null,
    outcome: "unknown",
    request_digest: text(row.body["request_digest"]),
    request: requestOf(row.body),
  };
}

function unobserved(core: Pick<OperationNeeds, "envelope">, row: StateRow): NewEvent[] {
  const links = {
    parent_event_id: row.id,
    attempt_id: row.id,
    call_id: text(row.body["call_id"]),
    session_id: text(row.body["session_id"]),
  };
  const reason = "gateway_stopped_before_the_result";
  return [
    { ...core.envelope("outcome_unobserved"), run_id: row.runId, ...links, reason },
    {
      ...core.envelope("action_finished"),
      run: row.runId,
      ...links,
      outcome: "unknown",
      remote_status: null,
      request_id: row.id,
      reason,
      evidence: "local_completion",
      request: requestOf(row.body),
    },
  ];
}

function requestOf(body: JsonObject) {
  return {
    version_selector: null,
    normalized_operation: `${text(body["method"])} ${text(body["action"])}`,
    target_boundary: boundaryOf(text(body["target"])),
    credential_label: null,
    decision: "recovered",
    status: null,
    correlation_id: text(body["call_id"]),
  };
}

/** Older rows have the whole address. */
function boundaryOf(target: string): string {
  if (!URL.canParse(target)) return target;
  const { protocol, username, host, origin } = new URL(target);
  return protocol === "ssh:" ? `${username}@${host}` : origin;
}

function ended(core: Pick<OperationNeeds, "envelope" | "ports">, row: StateRow): NewEvent[] {
  const sessions = Array.isArray(row.body["sessions"]) ? row.body["sessions"] : [];
  const at = isoTime(core.ports.clock.wallMs());
  return [
    ...sessions.map(
      (session): NewEvent => ({
        ...core.envelope("session_ended"),
        run_id: row.runId,
        session_id: text(session),
        end_reason: "gateway_restarted",
        ended_at: at,
      }),
    ),
    { ...core.envelope("run_ended"), run_id: row.runId, reason: "gateway_restarted" },
  ];
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
