import { Denied } from "../../kernel/failure.ts";
import type { OperatorContext } from "./context.ts";

/** Each says under which right a route may be used, or refuses. */
export function open(): string {
  return "open to the owner of the socket";
}

/** The body is an order that carries its own signature, checked before it does anything. */
export function signed(): string {
  return "by the signature that it carries";
}

export function loggedIn(context: OperatorContext): string {
  const { operator, readsOnly } = context.login();
  if (!readsOnly) return `operator ${operator}`;
  throw new Denied(
    "login_reads_only",
    "This login was made for reading. What changes something asks the person again.",
  );
}

/** For routes that change nothing. */
export function mayRead(context: OperatorContext): string {
  const { operator, readsOnly } = context.login();
  return `operator ${operator}${readsOnly ? ", reading" : ""}`;
}
