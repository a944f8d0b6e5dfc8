import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isTicketReference, type WorkContext } from "./context.ts";
import { readTarget } from "./target.ts";

/** What a person assigns, before it is a context. */
export interface Assignment {
  /** SYSTEM:REFERENCE; only an emergency does without. */
  readonly ref: string | null;
  readonly operations: readonly string[];
  readonly targets: readonly string[];
  /** The state that the person saw the ticket in. */
  readonly state: string | null;
  readonly emergency: NonNullable<WorkContext["emergency"]> | null;
  readonly lastsMs?: number;
  readonly batch?: NonNullable<WorkContext["batch"]>;
}

/** What is signed. It never lasts longer than the run, however long was asked for. */
export function composeContext(
  assignment: Assignment,
  run: { readonly id: string; readonly deadlineMs: number },
  issuer: string,
  nowMs: number,
): WorkContext {
  const { ref, emergency, state, batch, lastsMs = defaults.ticketMs } = assignment;
  if (emergency !== null && emergency.reason === "") {
    throw new Denied("ticket_invalid", "An emergency needs a reason: it stands on every card and in the log.");
  }
  if (ref === null && emergency === null) {
    throw new Denied("ticket_invalid", "Name the ticket as SYSTEM:REF; only an emergency does without.");
  }
  if (ref !== null && !isTicketReference(ref)) {
    throw new Denied("ticket_invalid", "A ticket is named SYSTEM:REF, such as jira:OPS-17.");
  }
  return {
    ticket_ref: ref ?? `emergency:${run.id}`,
    allowed_targets: [...new Set(assignment.targets.map((target) => readTarget(target).text))],
    allowed_operations: [...new Set(assignment.operations)],
    expires_at: isoTime(Math.min(nowMs + lastsMs, run.deadlineMs)),
    issued_for_run: run.id,
    issuer,
    issued_at: isoTime(nowMs),
    observed_state: state ?? (emergency === null ? "assigned by the operator" : "emergency"),
    ...(emergency === null ? {} : { emergency }),
    ...(batch === undefined ? {} : { batch }),
  };
}
