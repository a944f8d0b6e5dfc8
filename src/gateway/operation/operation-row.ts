import { openBudget, type RunLimits } from "../../conventions/budget/budget.ts";
import type { Moment } from "../../conventions/operation/evolve.ts";
import type { OperationState } from "../../conventions/operation/state.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { now } from "../core.ts";
import type { StateRow } from "../ports.ts";
import type { OperationNeeds } from "./needs.ts";
import type { Operation } from "./operations.ts";

/**
 * The operation as it must survive us, written only while the lease in the store is the one we know of. The result stays
 * out: after settlement digests are enough.
 */
export function operationRow(core: Pick<OperationNeeds, "ports">, operation: Operation): StateRow {
  const { purse, result: _result, resuming: _resuming, asking: _asking, id, state, ...rest } = operation;
  const { limits, attemptsUsed, sideEffectAttempts } = purse.budget;
  const body = { ...rest, boot_id: core.ports.clock.bootId(), purse: { limits, attemptsUsed, sideEffectAttempts } };
  const term = operation.lease?.term ?? 0;
  const onlyIf = (stored: StateRow | null): boolean => stored === null || termOf(stored) === term;
  return { table: "operations", id, runId: purse.id, state, body: body as unknown as JsonObject, onlyIf };
}

/** The term of the lease that a stored operation is under; none was ever taken of a new one. */
export function termOf({ body }: StateRow): number {
  const { lease } = body as { readonly lease?: { readonly term?: number } | null };
  return lease?.term ?? 0;
}

/** Back from its row. Times of this boot hold as they are; those of another are taken from the wall, within bounds. */
export function readOperation(core: Pick<OperationNeeds, "packs" | "ports">, row: StateRow): Operation {
  const { boot_id, purse, ...rest } = row.body as unknown as Omit<
    Operation,
    "purse" | "result" | "resuming" | "asking" | "id" | "state"
  > & {
    readonly boot_id: string;
    readonly purse: { readonly limits: RunLimits; readonly attemptsUsed: number; readonly sideEffectAttempts: number };
  };
  const moment = now(core);
  const here = boot_id === moment.bootId;
  const again = (stored: Moment, mostMs: number): Moment => {
    if (here) return stored;
    const leftMs = Date.parse(stored.at) - moment.wallMs;
    return { at: stored.at, bootMs: moment.bootMs + Math.min(Math.max(0, leftMs), mostMs) };
  };
  const { job } = core.packs().find(rest.action)?.action ?? { job: null };
  const runId = row.runId as Operation["purse"]["id"];
  const { attemptsUsed, sideEffectAttempts } = purse;
  return {
    ...rest,
    id: row.id as Operation["id"],
    state: row.state as OperationState,
    result: null as JsonValue,
    firstSent: rest.firstSent ?? { at: rest.createdAt, bootMs: Number.MAX_SAFE_INTEGER },
    repeats: rest.repeats ?? 0,
    claim: rest.claim ?? null,
    plan: rest.plan ?? null,
    held: rest.held ?? 0,
    heldOn: rest.heldOn ?? "",
    // Rows from before there was such a thing have none.
    resumes: rest.resumes ?? [],
    hinted: { ...(rest.hinted ?? { allowed: 0, reads: 0 }), underWay: false },
    resuming: false,
    asking: null,
    createDeadline: again(rest.createDeadline, job?.createDeadlineMs ?? MOST_MS),
    resultDeadline: again(rest.resultDeadline, job?.resultDeadlineMs ?? MOST_MS),
    nextPoll: rest.nextPoll === null ? null : again(rest.nextPoll, job?.pollCapMs ?? MOST_MS),
    purse: { id: runId, budget: { ...openBudget(runId, purse.limits, moment), attemptsUsed, sideEffectAttempts } },
  };
}

/** Whether another process has taken it since; then nothing that this one learned is written to it. */
export function isOvertaken(core: Pick<OperationNeeds, "ledger">, operation: Operation): boolean {
  const row = core.ledger.find("operations", operation.id);
  return row !== null && !("tampered" in row) && termOf(row) !== (operation.lease?.term ?? 0);
}

/** One that ended before this process began, from its row; null where there is none. */
export function recallOperation(
  core: Pick<OperationNeeds, "ledger" | "packs" | "ports">,
  id: string,
): Operation | null {
  const row = core.ledger.find("operations", id);
  if (row === null) return null;
  if ("tampered" in row) {
    throw new Denied("state_tampered", "The row of this operation was changed behind the gateway's back.");
  }
  return readOperation(core, row);
}

const MOST_MS = 60_000;
