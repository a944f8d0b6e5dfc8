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
  return `operator ${context.login().operator}`;
}
