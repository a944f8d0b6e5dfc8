import type { Command } from "commander";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addVaultCommands(program: Command, { io, vault, finish }: CliDeps): void {
  addOperatorCommand(
    program,
    "init",
    "make the home: first operator, vault, keys, signed policy",
    "gw init",
    "what the first operator is called; your user name without it",
  ).action(async (_options, command: Command) =>
    finish(await (await import("../vault/init.ts")).runInit(optionsOf(command), io, vault)),
  );
  addOperatorCommand(program, "passphrase", "change an operator's passphrase", "gw passphrase")
    .option("--new-passphrase-file <FILE>", "read the new one from a private file")
    .action(async (_options, command: Command) =>
      finish(await (await import("../vault/operators.ts")).runPassphrase(optionsOf(command), io, vault)),
    );

  const operator = program.command("operator").description("the people who may decide");
  addOperatorCommand(
    operator,
    "add <NAME>",
    "admit another operator with a passphrase of their own",
    "gw operator add ada",
  )
    .option("--new-passphrase-file <FILE>", "read theirs from a private file")
    .action(async (name: string, _options, command: Command) =>
      finish(await (await import("../vault/operators.ts")).runOperatorAdd(name, optionsOf(command), io, vault)),
    );
  addCommand(operator, "list", "who may decide here", "gw operator list --json").action(
    async (_options, command: Command) =>
      finish(await (await import("../vault/operators.ts")).runOperatorList(optionsOf(command), io, vault)),
  );
  addOperatorCommand(operator, "remove <NAME>", "take an operator's power away", "gw operator remove ada").action(
    async (name: string, _options, command: Command) =>
      finish(await (await import("../vault/operators.ts")).runOperatorRemove(name, optionsOf(command), io, vault)),
  );
  addOperatorCommand(operator, "pin", "set the PIN that gw watch asks for each approval", "gw operator pin")
    .option("--clear", "remove the PIN", false)
    .action(async (_options, command: Command) =>
      finish(await (await import("../vault/operators.ts")).runOperatorPin(optionsOf(command), io, vault)),
    );
}
