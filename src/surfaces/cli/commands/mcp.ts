import type { Command } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { ConnectOptions } from "../connect/connect.ts";
import type { McpOptions } from "../mcp.ts";
import { addBudgetOptions, whole } from "./budget-options.ts";
import { wrappedBy } from "./call.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addMcpCommands(program: Command, { io, random, finish }: CliDeps): void {
  const mcp = addCommand(
    program,
    "mcp",
    "serve MCP on standard input and output, for clients that start it",
    "gw connect claude-code --write\ngw mcp --actions 'acme.*' --attempts 100",
  )
    .option("--actions <NAMES>", "ask for these alone: PACK.ACTION, PACK.* or PACK.PART.*, with commas", (text) =>
      text.split(","),
    )
    .option(
      "--wait <SECONDS>",
      "how long a call waits for a person before it answers pending",
      whole(1, defaults.mcpWaitMs / 1000),
    );
  addBudgetOptions(mcp).action(async (_options, command: Command) => {
    const { runMcp } = await import("../mcp.ts");
    const options = { ...optionsOf<McpOptions>(command), ...wrappedBy(process.env) };
    finish(await runMcp(options, io, { input: process.stdin, output: process.stdout }));
  });
  const connect = addCommand(
    program,
    "connect <CLIENT>",
    "print the configuration that points a client at this gateway",
    "gw connect claude-code\ngw connect codex --write\ngw connect json",
  )
    .option("--write", "merge it into the client's file, after showing what changes")
    .option("--file <FILE>", "the client's file, where it is not the usual one")
    .option("--name <NAME>", "what the client calls this server", "gw")
    .option("--actions <NAMES>", "ask for these alone: PACK.ACTION, PACK.* or PACK.PART.*, with commas");
  addBudgetOptions(connect).action(async (client: string, _options, command: Command) => {
    const { runConnect } = await import("../connect/connect.ts");
    finish(await runConnect(client, optionsOf<ConnectOptions>(command), io, random));
  });
}
