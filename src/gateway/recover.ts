import type { NewEvent } from "../audit/event.ts";
import { isoTime } from "../kernel/clock.ts";
import type { JsonObject, JsonValue } from "../kernel/json.ts";
import type { Core } from "./core.ts";
import type { StateRow, StateStore } from "./ports.ts";

/**
 * After a start: every intent without a completion becomes `unknown`, every run that was open is over, and no session
 * survives. Budgets are not refunded. A row that does not authenticate is reported and never used.
 */
export async function recover(
  core: Core,
  store: StateStore,
): Promise<{ readonly unknown: number; readonly runs: number }> {
  const events: NewEvent[] = [];
  const rows: StateRow[] = [];
  const attempts = store.load("attempts", "sent");
  const runs = [...store.load("runs", "open"), ...store.load("runs", "pending")];
  for (const row of attempts) {
    if ("tampered" in row) {
      events.push({ ...core.envelope("state_tampered"), table: "attempts", row: row.tampered });
      continue;
    }
    events.push(...unobserved(core, row));
    rows.push({ ...row, state: "unknown" });
  }
  for (const row of runs) {
    if ("tampered" in row) {
      events.push({ ...core.envelope("state_tampered"), table: "runs", row: row.tampered });
      continue;
    }
    events.push(...ended(core, row));
    rows.push({ ...row, state: "ended", body: { ...row.body, sessions: [], end_reason: "gateway_restarted" } });
  }
  if (events.length > 0) {
    const counts = { unfinished: attempts.length, unknown: rows.filter(({ state }) => state === "unknown").length };
    events.push({ ...core.envelope("recovery_finished"), ...counts, resumed: 0 });
    await core.ledger.record(events, rows);
  }
  return { unknown: attempts.length, runs: runs.length };
}

function unobserved(core: Core, row: StateRow): NewEvent[] {
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
  const target = text(body["target"]);
  return {
    version_selector: null,
    normalized_operation: `${text(body["method"])} ${text(body["action"])}`,
    target_boundary: URL.canParse(target) ? new URL(target).origin : target,
    credential_label: null,
    decision: "recovered",
    status: null,
    correlation_id: text(body["call_id"]),
  };
}

function ended(core: Core, row: StateRow): NewEvent[] {
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
