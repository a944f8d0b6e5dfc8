import { printable } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import { Unreachable } from "../client/connection.ts";
import { namesCommand } from "./command-words.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { Misused } from "./misused.ts";

/** Runs a command's work and turns every refusal into its code, a message for a person, and the exit it stands for. */
export async function answering(io: CliIo, work: () => Exit | Promise<Exit>): Promise<Exit> {
  try {
    return await work();
  } catch (thrown) {
    const error = deniedByFiles(thrown) ?? thrown;
    if (error instanceof Unreachable) {
      io.err(`gateway_unreachable: ${error.message}`);
      return exits.unreachable;
    }
    if (!(error instanceof Denied)) throw error;
    const [first = "", ...rest] = error.message.split("\n");
    io.err(printable(`${error.code}: ${first}`));
    // Messages may quote what a provider or an agent wrote, and this is a person's terminal.
    for (const line of rest) io.err(`  ${printable(line)}`);
    for (const { path, message } of error.errors)
      if (message !== error.message) io.err(printable(`  ${path === "" ? "/" : path}: ${message}`));
    for (const line of budgetLines(error.extra["budget"])) io.err(line);
    if (saysMore(error)) io.err(printable(`  ${error.next}`));
    return exitOf(error);
  }
}

/** What the gateway's table says of a code helps where the refusal itself names nothing to type, and more than "see above" or how a request is written. */
function saysMore({ message, next }: Denied): boolean {
  return next !== null && !namesCommand(message) && !/^(?:The message|Each entry|Do what the message|Send )/.test(next);
}

/** Which ceiling stopped it first, and what is left of each: a report of a stop needs no second question. */
function budgetLines(budget: unknown): readonly string[] {
  if (typeof budget !== "object" || budget === null) return [];
  const shown = (name: string): string => printable(String((budget as Record<string, unknown>)[name] ?? "none"));
  const left = `${shown("attempts_remaining")} attempts, ${shown("side_effects_remaining")} side effects, ${shown("spend_remaining_cents")} cents`;
  return [
    `  left of the budget: ${left}, until ${shown("deadline_at")}`,
    `  first stopped by: ${shown("budget_stop_reason")}`,
  ];
}

function exitOf(error: Denied): Exit {
  if (error instanceof Misused) return exits.usage;
  switch (error.code) {
    case "gateway_locked":
    case "vault_locked":
      return exits.locked;
    case "gateway_unreachable":
    case "hub_unreachable":
      return exits.unreachable;
    case "answer_not_declared":
      return exits.unknown;
    default:
      return exits.denied;
  }
}
