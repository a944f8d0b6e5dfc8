import type { OperatorContext } from "./context.ts";

/** Each says under which right a route may be used, or refuses. */
export function open(): string {
  return "open to the owner of the socket";
}

export function loggedIn(context: OperatorContext): string {
  return `operator ${context.login().operator}`;
}
