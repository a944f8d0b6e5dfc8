import { isatty } from "node:tty";
import { PROBE_VARIABLE, RECEIVER_COMMAND } from "../conventions/ssh/client-options.ts";
import type { RefusalCode } from "../conventions/ssh/refusal.ts";

/** What the server gave this session that it should not have: the second line behind `restrict` and a forced command. */
export function findBreach(environment: NodeJS.ProcessEnv): RefusalCode | null {
  const given = (name: string) => (environment[name] ?? "") !== "";
  if (given("SSH_ORIGINAL_COMMAND") && environment["SSH_ORIGINAL_COMMAND"] !== RECEIVER_COMMAND) {
    return "command_not_allowed";
  }
  if (given("SSH_TTY") || isatty(0) || isatty(1)) return "terminal_not_allowed";
  if (given("SSH_AUTH_SOCK") || given("DISPLAY")) return "forwarding_not_allowed";
  return given(PROBE_VARIABLE) ? "environment_not_allowed" : null;
}
