import { Denied } from "../../kernel/failure.ts";
import type { OperationId, RunId } from "../../kernel/ids.ts";
import type { Operation } from "../operation/operations.ts";
import type { LiveCaller } from "../ports.ts";
import { isDescendant } from "./descendants.ts";
import type { RunNeeds } from "./needs.ts";
import { partyOf, type Run } from "./run.ts";

/** The run, for those who belong to it: by a session, or because the process that opened it started them. */
export function findRun({ book }: Pick<RunNeeds, "book">, caller: LiveCaller, id: RunId | undefined): Run {
  const run = id === undefined ? undefined : book.run(id);
  const started = run !== undefined && !run.sessions.has(caller.key) && isDescendant(run, caller);
  return started ? run : book.findRun(caller.key, id);
}

/** Under which name the caller owns plans and operations of this run. */
export function partyIn({ book }: Pick<RunNeeds, "book">, caller: LiveCaller, id: RunId): string {
  const run = book.run(id);
  const belongs = run !== undefined && (run.sessions.has(caller.key) || isDescendant(run, caller));
  return belongs ? partyOf(run, caller.key) : caller.key;
}

/** For operators, who may see every run. */
export function requireRun({ book }: Pick<RunNeeds, "book">, id: RunId | undefined): Run {
  const run = id === undefined ? undefined : book.run(id);
  if (run === undefined) throw new Denied("not_found", "There is no such run. Runs end with the gateway's process.");
  return run;
}

export function findOperation(
  core: Pick<RunNeeds, "book" | "operations">,
  caller: LiveCaller,
  id: OperationId | undefined,
): Operation {
  const operation = core.operations.get(id);
  if (operation.party === partyIn(core, caller, operation.purse.id)) return operation;
  throw new Denied("not_found", "There is no such operation.");
}
