import { printable } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { Unreachable } from "../client/connection.ts";
import { type CliIo, type Exit, exits } from "./io.ts";

/** Runs a command's work and turns every refusal into its code, a message for a person, and the exit it stands for. */
export async function answering(io: CliIo, work: () => Exit | Promise<Exit>): Promise<Exit> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Unreachable) {
      io.err(`gateway_unreachable: ${error.message}`);
      return exits.unreachable;
    }
    if (!(error instanceof Denied)) throw error;
    const [first = "", ...rest] = error.message.split("\n");
    io.err(printable(`${error.code}: ${first}`));
    // Messages may quote what a provider or an agent wrote, and this is a person's terminal.
    for (const line of rest) io.err(`  ${printable(line)}`);
    for (const { path, message } of error.errors) io.err(printable(`  ${path === "" ? "/" : path}: ${message}`));
    return exitOf(error);
  }
}

function exitOf({ code }: Denied): Exit {
  switch (code) {
    case "gateway_locked":
    case "vault_locked":
      return exits.locked;
    case "gateway_unreachable":
      return exits.unreachable;
    default:
      return exits.denied;
  }
}
