import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { WorkContext } from "./context.ts";
import { type CallTarget, coversTarget, readTarget } from "./target.ts";

/**
 * What a person assigns who approves a call that needs a ticket and has none: this operation at this target, and nothing
 * beside it. The gateway writes it onto the card; the operator's own process signs it.
 */
export type TicketNeed = {
  /** PACK.ACTION. */
  readonly operation: string;
  /** In the one form of targets, with every argument pinned that fits. */
  readonly target: string;
};

/** Undefined where the place of the call has no form as a target: then nobody can assign it. */
export function needOf(operation: string, call: CallTarget): TicketNeed | undefined {
  try {
    const target = exactTarget(call);
    return coversTarget(readTarget(target), call) ? { operation, target } : undefined;
  } catch (error) {
    if (error instanceof Denied) return undefined;
    throw error;
  }
}

/** The digest on the card binds every argument; the pins say in the signed context which thing it is about. */
function exactTarget({ location, arguments: args }: CallTarget): string {
  let target = readTarget(location).text;
  const pins = new URLSearchParams();
  for (const name of Object.keys(args).sort()) {
    const value = args[name];
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") continue;
    pins.set(name, String(value));
    const { text } = readTarget(`${location}?${pins.toString()}`);
    if (text.length <= defaults.ticketEntryCharacters) target = text;
    else pins.delete(name);
  }
  return target;
}

/** A context entered on a card covers what stood there, and nothing that did not. */
export function requireExactly({ allowed_operations, allowed_targets }: WorkContext, need: TicketNeed): void {
  const [operation, ...otherOperations] = allowed_operations;
  const [target, ...otherTargets] = allowed_targets;
  const more = otherOperations.length + otherTargets.length;
  if (operation === need.operation && target === need.target && more === 0) return;
  throw new Denied(
    "ticket_scope_mismatch",
    "The work context entered with the approval covers something else than the call on the card. Nothing was decided.",
  );
}
