import { Denied } from "../../kernel/failure.ts";
import type { CallerCheck } from "./port.ts";

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
