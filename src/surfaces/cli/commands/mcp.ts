import { type Command, InvalidArgumentError } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { ConnectOptions } from "../connect/connect.ts";
import type { McpOptions } from "../mcp.ts";
import { wrappedBy } from "./call.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addMcpCommands(program: Command, { io, random, finish }: CliDeps): void {
  addCommand(
    program,
    "mcp",
    "serve MCP on standard input and output, for clients that start it",
    "gw connect claude-code --write\ngw mcp --actions 'acme.*' --attempts 100",
  )
    .option("--actions <NAMES>", "ask for these alone: PACK.ACTION or PACK.*, with commas", (text) => text.split(","))
    .option(
      "--wait <SECONDS>",
      "how long a call waits for a person before it answers pending",
      whole(1, defaults.mcpWaitMs / 1000),
    )
    .option("--attempts <N>", "attempts that each run asks for", whole(1, defaults.runMaximumAttempts))
    .option("--side-effects <N>", "side effects that each run asks for", whole(0, defaults.runMaximumSideEffects))
    .option("--duration <SECONDS>", "how long each run lasts", whole(1, defaults.runMaximumDurationMs / 1000))
    .option("--spend-cents <N>", "money that each run asks for", whole(0, defaults.runMaximumSpendCents))
    .action(async (_options, command: Command) => {
      const { runMcp } = await import("../mcp.ts");
      const options = { ...optionsOf<McpOptions>(command), ...wrappedBy(process.env) };
      finish(await runMcp(options, io, { input: process.stdin, output: process.stdout }));
    });
  addCommand(
    program,
    "connect <CLIENT>",
    "print the configuration that points a client at this gateway",
    "gw connect claude-code\ngw connect codex --write\ngw connect json",
  )
    .option("--write", "merge it into the client's file, after showing what changes")
    .option("--file <FILE>", "the client's file, where it is not the usual one")
    .option("--name <NAME>", "what the client calls this server", "gw")
    .option("--actions <NAMES>", "ask for these alone: PACK.ACTION or PACK.*, with commas")
    .action(async (client: string, _options, command: Command) => {
      const { runConnect } = await import("../connect/connect.ts");
      finish(await runConnect(client, optionsOf<ConnectOptions>(command), io, random));
    });
}

function whole(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = /^[0-9]{1,12}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= minimum && value <= maximum)) {
      throw new InvalidArgumentError(`a whole number, ${minimum} to ${maximum}`);
    }
    return value;
  };
}
