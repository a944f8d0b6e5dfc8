import { Denied } from "../../kernel/failure.ts";
import type { CallerCheck, LiveCaller } from "./port.ts";
import type { SessionEnding } from "./session.ts";

/** Throws unless the caller is still the process image that was identified. */
export function requireSame(check: CallerCheck): void {
  if (check.kind !== "same") throw denialOf(check);
}

export function denialOf(check: Exclude<CallerCheck, { readonly kind: "same" }>): Denied {
  switch (check.kind) {
    case "gone":
      return new Denied("caller_gone", "the process that made this connection has exited; connect again");
    case "replaced":
      return new Denied("caller_replaced", `the caller's image was replaced (${check.what}); a new session is needed`);
    case "traced":
      return new Denied(
        "caller_traced",
        `process ${check.tracer} traces the caller; nothing is done for a traced process`,
      );
  }
}

/** How a session ends over a failed check; null when it does not: a tracer refuses the call and leaves the session. */
export function endingOf(check: CallerCheck): SessionEnding | null {
  switch (check.kind) {
    case "same":
    case "traced":
      return null;
    case "gone":
      return "process_exited";
    case "replaced":
      return "image_replaced";
  }
}

/** Whether an approval given to `approved` may serve a connection of `present`: only for the one live image. */
export function sameCaller(approved: Pick<LiveCaller, "key">, present: Pick<LiveCaller, "key">): boolean {
  return approved.key === present.key;
}
