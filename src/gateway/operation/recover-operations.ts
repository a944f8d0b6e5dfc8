import type { NewEvent } from "../../audit/event.ts";
import { isSettled, operationStates } from "../../conventions/operation/state.ts";
import type { CallId, RunId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import { type PlanFill, reachOf } from "../outbound/outbound.ts";
import type { StateRow, StateStore } from "../ports.ts";
import { waitFor } from "./lease.ts";
import type { OperationNeeds } from "./needs.ts";
import { momentIn, type Opened, openedEvent, openOperation, step } from "./operation.ts";
import { operationRow, readOperation } from "./operation-row.ts";
import { learn, type Operation } from "./operations.ts";
import { CUSTODIAN, stopCaring, takeCustody } from "./read-operation.ts";
import { isReconcilable, NO_READ } from "./reconcile.ts";
import { adoptResume } from "./resume.ts";

/**
 * After a start every operation goes on from its row: what was being created or asked about is not known any more, what
 * was being observed is observed again on its stored schedule. No session survived, so the gateway reads as custodian.
 */
export function recoverOperations(
  core: OperationNeeds,
  store: StateStore,
): { readonly operations: readonly Operation[]; readonly events: readonly NewEvent[]; readonly rows: StateRow[] } {
  const operations: Operation[] = [];
  const events: NewEvent[] = [];
  const rows: StateRow[] = [];
  for (const state of operationStates.filter((one) => !isSettled(one))) {
    for (const row of store.load("operations", state)) {
      if ("tampered" in row) {
        events.push({ ...core.envelope("state_tampered"), table: "operations", row: row.tampered });
        continue;
      }
      const operation = readOperation(core, row);
      operations.push(operation);
      if (operation.lease !== null && operation.lease.owner !== core.worker) {
        // Another gateway's: it may be at work on it right now.
        waitFor(core, operation, operation.lease);
        continue;
      }
      const before = operation.state;
      const lost = { observation: "gateway_stopped_before_the_result" } as const;
      events.push(...step(core, operation, { kind: "no_clear_answer", ...lost }, CUSTODIAN));
      events.push(...step(core, operation, { kind: "reconciliation_inconclusive", ...lost }, CUSTODIAN));
      takeCustody(operation);
      if (operation.problem === null)
        learn(operation, { kind: "look_again", at: operation.nextPoll ?? momentIn(core, 0) });
      if (operation.state !== before) rows.push(operationRow(core, operation));
    }
  }
  return { operations, events, rows };
}

/** A write that was on its way when we stopped: unknown, and from now on an operation that can be asked about. */
export function adoptAttempt(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  row: Pick<StateRow, "id" | "runId" | "body">,
): { readonly operation: Operation; readonly events: readonly NewEvent[] } | null {
  const { body } = row;
  if (body["side_effect"] !== true || typeof body["operation_id"] === "string") return null;
  const action = String(body["action"]);
  const found = core.packs().find(action);
  // What was sent by another pack is looked after by nobody but a person; that it was sent is kept all the same.
  const trusted = found !== null && found.pack.digest === body["pack_digest"] ? found : null;
  const definition: Opened = trusted ?? {
    action: { qualifiedName: action, job: null },
    pack: { digest: String(body["pack_digest"]) as Opened["pack"]["digest"], provider: null },
  };
  const input = (body["input"] ?? {}) as JsonObject;
  const operation = openOperation(core, "write", {
    // By its attempt: whichever gateway takes it up, and however often, it is one operation.
    id: `op_${row.id.slice(row.id.indexOf("_") + 1)}` as Operation["id"],
    run: { id: row.runId as RunId },
    session: { id: String(body["session_id"]), caller: { key: String(body["caller"] ?? "") } },
    callId: String(body["call_id"]) as CallId,
    outbound: {
      definition,
      credential: trusted === null ? null : reachOf(trusted).credential,
      requestDigest: String(body["request_digest"]),
      plan: (body["plan"] ?? null) as PlanFill | null,
    },
    authorization: body["authorization"] as unknown as Authorization,
    token: typeof body["token"] === "string" ? body["token"] : null,
    input,
    party: String(body["caller"] ?? ""),
    held: Number(body["maximum_cents"] ?? 0),
    heldOn: String(body["reserved_on"] ?? ""),
    ...(typeof body["claim"] === "string" ? { claim: { key: body["claim"] } } : {}),
  });
  const said = typeof body["said"] === "string" ? { said: body["said"] } : {};
  learn(operation, { kind: "left_unanswered", attemptId: row.id, ...said });
  const observation = "gateway_stopped_before_the_result";
  const events = [
    openedEvent(core, operation),
    ...step(core, operation, { kind: "no_clear_answer", observation }, CUSTODIAN),
  ];
  takeCustody(operation);
  if (trusted === null)
    stopCaring(operation, "definition_changed", "the pack that sent it changed or is not trusted now");
  else if (isReconcilable(core, trusted)) learn(operation, { kind: "look_again", at: momentIn(core, 0) });
  else stopCaring(operation, "operation_not_reconcilable", NO_READ);
  return { operation, events };
}

/** A resume that was on its way when we stopped. Its operation had failed, so that nothing else looks after it. */
export function adoptResumed(
  core: Pick<OperationNeeds, "envelope" | "packs" | "ports">,
  store: StateStore,
  { body, id }: StateRow,
): { readonly operation: Operation; readonly events: readonly NewEvent[] } | null {
  const operationId = body["operation_id"];
  if (typeof operationId !== "string") return null;
  const row = store.find("operations", operationId);
  if (row === null || "tampered" in row || row.state !== "failed") return null;
  const operation = readOperation(core, row);
  if (core.packs().find(operation.action)?.pack.digest !== operation.packDigest) return null;
  const events = adoptResume(core, operation, id, CUSTODIAN);
  if (events === null) return null;
  takeCustody(operation);
  learn(operation, { kind: "look_again", at: momentIn(core, 0) });
  return { operation, events };
}
