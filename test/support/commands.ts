import { whole } from "./whole.ts";

/**
 * Commands of `gw` that say one thing and end. A start of the program takes ten times as long as what they do, so they share a process
 * (fixtures/commands.mjs) that has the program loaded; all but those that need a process of their own. Those serve (a console that serves is
 * begun with `start`, and one that is run to its end is a refused one), stay at a terminal, start programs, are callers, whom the gateway
 * knows by their process, or look at the process that they are.
 */
const ALONE = new Set([
  ...["up", "demo", "reference", "conformance", "watch", "keeper"],
  ...["actions", "call", "execute", "mcp", "plan", "run"],
  ...["login", "logout", "connect", "doctor", "install", "uninstall", "setup-shell"],
]);

export function sharesProcess([command = ""]: readonly string[]): boolean {
  return !whole && /^[a-z]/.test(command) && !ALONE.has(command);
}
