import { describeSend } from "../../conventions/action/send.ts";
import type { Reservation } from "../../conventions/budget/decide.ts";
import type { OperationState } from "../../conventions/operation/state.ts";
import {
  type ClaimKey,
  claimOf,
  claimOfIntent,
  type Holder,
  isHolding,
  nameOf,
} from "../../conventions/outcome/claim.ts";
import type { Verdict } from "../../conventions/outcome/classify.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Outbound } from "../outbound/outbound.ts";
import type { StateRow } from "../ports.ts";
import { nameCaller } from "../record/record.ts";
import type { AttemptNeeds } from "./needs.ts";
import { attemptRow } from "./row.ts";
import type { Claim, CustodySending, Sending } from "./sending.ts";

export const CLAIM = "claim";

export function openClaim(key: ClaimKey, despite: ReadonlySet<string> = NOBODY, doubt = false): Claim {
  return { key, despite, doubt, unseen: [], holder: null };
}

const NOBODY: ReadonlySet<string> = new Set();

/** `intent` where the request names things of ours that differ each time it is asked for. */
export function keyOf({ bound, definition }: Outbound, intent: JsonObject | null): ClaimKey {
  if (intent !== null) return claimOfIntent(bound, intent);
  return claimOf(bound, definition.pack.provider?.version?.header ?? null);
}

/** Whoever stands in the way of this side effect, oldest first. */
export function holdersOf(core: Pick<AttemptNeeds, "ledger">, key: ClaimKey): readonly Holder[] {
  const row = core.ledger.find("notes", rowId(key));
  if (row === null) return [];
  if ("tampered" in row) {
    throw new Denied(
      "state_tampered",
      "The record of what is open for this call was changed behind the gateway's back.",
    );
  }
  return readHolders(row).filter((holder) => isHolding(holder, stateOf(core, holder)));
}

export function stateOf(
  core: Pick<AttemptNeeds, "ledger">,
  { operation_id }: Holder,
): OperationState | "unreadable" | null {
  if (operation_id === null) return null;
  const row = core.ledger.find("operations", operation_id);
  if (row === null) return null;
  return "tampered" in row ? "unreadable" : (row.state as OperationState);
}

/** The same call is open already: it is answered with what is known of that one, and nothing is sent. */
export function unsettled(core: Pick<AttemptNeeds, "ledger">, holder: Holder): Denied {
  const name = nameOf(holder);
  const state = holder.under_way ? "being_sent" : (stateOf(core, holder) ?? "unknown");
  const next = holder.under_way
    ? "It is on its way right now: wait for it, and do not send it again."
    : `Find out what became of it (reconcile ${name}), wait, or ask a person: they see it with gw operation show ${name} and decide with gw operation settle ${name}. To ask them for a second one all the same, make the call with repeat_of ${name}.`;
  const message = `The same call is open: ${name}, started at ${holder.at}. Nothing was sent. ${next}`;
  const { operation_id, call_id, run_id, at } = holder;
  const open = { operation_id, call_id, run_id, state, started_at: at };
  return new Denied("outcome_unsettled", message, {
    extra: { open, ...(operation_id === null ? {} : { operation_id }) },
  });
}

/** The row that takes it, kept in the same commit as the intent. Whoever was faster has it. */
export function takeClaim(
  core: Pick<AttemptNeeds, "ledger" | "ports">,
  claim: Claim,
  sending: Sending | CustodySending,
  attemptId: string,
  reservation: Reservation,
): StateRow {
  const open = holdersOf(core, claim.key).filter((holder) => !isOwn(holder, sending));
  const blocking = open.find((holder) => holder.under_way || !claim.despite.has(nameOf(holder)));
  if (blocking !== undefined) throw unsettled(core, blocking);
  requireStillOpen(core, claim);
  claim.holder = {
    call_id: sending.callId,
    run_id: sending.run.id,
    action: sending.outbound.action,
    started_by: sending.custody === undefined ? nameCaller(sending.session.caller) : sending.session.caller.key,
    at: claim.holder?.at ?? isoTime(core.ports.clock.wallMs()),
    under_way: true,
    operation_id: sending.operationId ?? null,
    attempt_id: attemptId,
    evidence: attemptRow(sending, attemptId, "unknown", reservation).body,
  };
  const passed = new Set(open.map(({ call_id }) => call_id));
  const onlyIf = (stored: StateRow | null): boolean =>
    stored === null ||
    readHolders(stored).every(
      (holder) => isOwn(holder, sending) || passed.has(holder.call_id) || !isHolding(holder, stateOf(core, holder)),
    );
  return { ...claimRow(claim.key, [...open, claim.holder]), onlyIf };
}

/**
 * The intent was not written, so that nothing is sent. Whoever was faster between our look and the commit is the answer;
 * where the store took it and the log did not, it is let go again.
 */
export async function withdrawClaim(
  core: Pick<AttemptNeeds, "ledger">,
  claim: Claim,
  before: Holder | null,
  sending: Sending | CustodySending,
  error: unknown,
): Promise<void> {
  const taken = claim.holder;
  claim.holder = before;
  if (!(error instanceof Denied) || taken === before || taken === null || core.ledger.stopped) return;
  if (error.code === "operation_taken_over") {
    const other = holdersOf(core, claim.key).find((one) => !isOwn(one, sending) && !claim.despite.has(nameOf(one)));
    if (other !== undefined) throw unsettled(core, other);
    return;
  }
  const stored = core.ledger.find("notes", rowId(claim.key));
  if (stored === null || "tampered" in stored) return;
  if (!readHolders(stored).some(({ attempt_id }) => attempt_id === taken.attempt_id)) return;
  claim.holder = taken;
  const { operationId, errand, run } = sending;
  // A job that was never begun is no operation.
  const isNone = before === null && (operationId === undefined || errand === "create_job");
  const rows = isNone ? releaseClaim(core, claim) : linkClaim(core, claim, operationId ?? null);
  const attempt: StateRow = {
    table: "attempts",
    id: taken.attempt_id,
    runId: run.id,
    state: "tracked",
    body: {},
    over: true,
  };
  await core.ledger.record(`${errand}.settled`, [], [attempt, ...rows]);
}

/** A token's repeat, a retry and a redirect are the call that holds it already. */
function isOwn(holder: Holder, { callId, operationId }: Sending | CustodySending): boolean {
  return holder.call_id === callId && (holder.operation_id === null || holder.operation_id === (operationId ?? null));
}

/** What a person agreed to go past may have turned out to have happened: then they agreed to something else. */
function requireStillOpen(core: Pick<AttemptNeeds, "ledger">, { despite }: Claim): void {
  for (const name of despite) {
    const row = name.startsWith("op_") ? core.ledger.find("operations", name) : null;
    if (row === null || "tampered" in row || row.state !== "succeeded") continue;
    throw new Denied("operation_settled", `${name} has succeeded since you were asked. Nothing was sent.`);
  }
}

/** After an attempt: let go where its answer proves how it ended, kept otherwise. Says so on the claim. */
export function settleClaim(
  core: Pick<AttemptNeeds, "ledger">,
  claim: Claim,
  sending: Sending | CustodySending,
  verdict: Verdict,
  before: boolean,
): readonly StateRow[] {
  claim.doubt = isInDoubt(sending, verdict, before);
  if (verdict.kind === "unknown" && claim.holder !== null) claim.unseen = [...claim.unseen, claim.holder.attempt_id];
  const running = sending.outbound.definition.action.job !== null && verdict.kind !== "error";
  if (!claim.doubt && !running) return [...releaseClaim(core, claim), ...closeUnseen(claim, sending.run.id)];
  return sending.operationId === undefined ? [] : linkClaim(core, claim, sending.operationId);
}

/** A receipt ends every doubt, a refusal only the doubt about itself; a redirect and its answer prove nothing. */
function isInDoubt({ outbound, request }: Sending | CustodySending, verdict: Verdict, before: boolean): boolean {
  switch (verdict.kind) {
    case "success":
      // The answer of a GET that a 303 led to is no receipt of the write.
      return before && describeSend(request).method !== outbound.method;
    case "error":
      return before;
    case "accepted":
      return outbound.definition.action.job === null;
    case "redirect":
    case "unknown":
      return true;
  }
}

/** An operation answers for it from now on: it holds for as long as that is not settled. */
export function linkClaim(
  core: Pick<AttemptNeeds, "ledger">,
  claim: Claim,
  operationId: string | null,
): readonly StateRow[] {
  if (claim.holder === null) return [];
  claim.holder = { ...claim.holder, under_way: false, operation_id: operationId };
  return [claimRow(claim.key, [...others(core, claim), claim.holder])];
}

function releaseClaim(core: Pick<AttemptNeeds, "ledger">, claim: Claim): readonly StateRow[] {
  if (claim.holder === null) return [];
  const left = others(core, claim);
  claim.holder = null;
  return [claimRow(claim.key, left)];
}

/** Attempts of the same call that had no answer are answered for by what ended it. */
export function closeUnseen(claim: Claim, runId: string): readonly StateRow[] {
  const rows = claim.unseen.map((id): StateRow => {
    return { table: "attempts", id, runId, state: "tracked", body: {}, over: true };
  });
  claim.unseen = [];
  return rows;
}

function others(core: Pick<AttemptNeeds, "ledger">, { key, holder }: Claim): readonly Holder[] {
  return holdersOf(core, key).filter(({ call_id }) => call_id !== holder?.call_id);
}

/** It belongs to no run: the next holder may be another's. */
export function claimRow(key: string, holders: readonly Holder[]): StateRow {
  const row = { table: "notes", id: rowId(key), runId: CLAIM, state: CLAIM, unordered: true } as const;
  return holders.length === 0 ? { ...row, body: {}, over: true } : { ...row, body: { holders } };
}

export function readHolders({ body }: StateRow): readonly Holder[] {
  return Array.isArray(body["holders"]) ? (body["holders"] as unknown as readonly Holder[]) : [];
}

function rowId(key: string): string {
  return `${CLAIM} ${key}`;
}

export function keyOfRow({ id }: StateRow): ClaimKey {
  return id.slice(CLAIM.length + 1) as ClaimKey;
}
