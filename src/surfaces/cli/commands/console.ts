import type { Command } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { OperatorOptions } from "../options.ts";
import { whole } from "./budget-options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addConsoleCommand(program: Command, { finish, serveConsole }: CliDeps): void {
  addOperatorCommand(
    program,
    "console",
    "the operator's page in a browser on this machine: decide, look, revoke, enrol passkeys",
    "gw console",
  )
    .option("--port <N>", "where it listens; passkeys belong to it", whole(1_024, 65_535), defaults.consolePort)
    .action(async (_options, command: Command) =>
      finish(await serveConsole(optionsOf<OperatorOptions & { readonly port: number }>(command))),
    );
}
