import type { Command } from "commander";
import type { OperatorOptions } from "../options.ts";
import type { DecideWithOptions } from "../vault/passkeys.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

/** Keys that only a hand can use; they are made in the console, where a browser can ask for one. */
export function addPasskeyCommands(program: Command, { io, vault, finish }: CliDeps): void {
  const passkey = program
    .command("passkey")
    .description("approvals that only a hand can give; enrol one with gw console");
  const load = () => import("../vault/passkeys.ts");
  addCommand(passkey, "list", "whose passkeys decide, and where", "gw passkey list").action(
    async (_options, command: Command) => finish(await (await load()).runPasskeyList(optionsOf(command), io, vault)),
  );
  addOperatorCommand(
    passkey,
    "remove <NAME>",
    "it decides nothing from now on; what it decided stays provable",
    "gw passkey remove laptop",
  ).action(async (name: string, _options, command: Command) =>
    finish(await (await load()).runPasskeyRemove(name, optionsOf<OperatorOptions>(command), io, vault)),
  );
}

/** Which approvals need one, or a second person. */
export function addDecisionRules(policy: Command, { io, vault, finish }: CliDeps): void {
  const load = () => import("../vault/passkeys.ts");
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  addOperatorCommand(
    policy,
    "decide-with <KEY>",
    "passkey: such a yes needs one, and a terminal can only say no; any: the vault's key is enough",
    "gw policy decide-with passkey --effect send --effect purchase",
  )
    .option("--all", "every yes")
    .option("--effect <EFFECT>", "write, send, create or purchase (repeatable)", many)
    .option("--credential <LABEL>", "whatever uses this credential (repeatable)", many)
    .option("--pack <PACK>", "every action of this pack (repeatable)", many)
    .action(async (word: string, _options, command: Command) =>
      finish(await (await load()).runDecideWith(word, optionsOf<DecideWithOptions>(command), io, vault)),
    );
  addOperatorCommand(
    policy,
    "approvers <ACTION> <COUNT>",
    "how many operators have to approve this action, 1 or 2",
    "gw policy approvers acme.release.promote 2",
  ).action(async (action: string, count: string, _options, command: Command) =>
    finish(await (await load()).runApprovers(action, count, optionsOf<OperatorOptions>(command), io, vault)),
  );
}
