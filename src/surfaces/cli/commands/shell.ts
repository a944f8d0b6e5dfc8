import { homedir } from "node:os";
import type { Command } from "commander";
import type { SetupShellOptions } from "../shell/setup-shell.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addShellCommand(program: Command, { io, random, finish }: CliDeps): void {
  addCommand(program, "setup-shell", "put this gw on the path of your shell", "gw setup-shell\ngw setup-shell --undo")
    .option("--undo", "take it off again")
    .action(async (_options, command: Command) => {
      const { runSetupShell } = await import("../shell/setup-shell.ts");
      const of = { home: homedir(), shell: process.env["SHELL"] ?? "", path: process.env["PATH"] ?? "" };
      finish(await runSetupShell(optionsOf<SetupShellOptions>(command), io, of, random));
    });
}
