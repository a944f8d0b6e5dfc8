import type { Command } from "commander";
import type { OperatorOptions } from "../options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addDecisionRules } from "./passkey.ts";

export function addPolicyCommands(program: Command, deps: CliDeps): void {
  const { io, vault, finish } = deps;
  const policy = program.command("policy").description("settings that can lower protection; an operator signs them");
  const load = () => import("../vault/policy.ts");
  addCommand(policy, "show", "each setting, and which stand lower than they could", "gw policy show").action(
    async (_options, command: Command) => finish(await (await load()).runPolicyShow(optionsOf(command), io, vault)),
  );
  addOperatorCommand(
    policy,
    "set <SETTING> <VALUE>",
    "sign a setting of gw policy show into policy; a running gateway follows at once",
    "gw policy set callbacks loopback\ngw policy set day_spend_cents 5000",
  ).action(async (setting: string, value: string, _options, command: Command) =>
    finish(await (await load()).runPolicySet(setting, value, optionsOf<OperatorOptions>(command), io, vault)),
  );
  addDecisionRules(policy, deps);
}
