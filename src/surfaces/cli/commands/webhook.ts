import { type Command, Option } from "commander";
import { WEBHOOK_FORMATS } from "../../../conventions/webhook/webhook.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { WebhookAddOptions } from "../vault/webhooks.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

/** Where it is told that a card waits; an operator signs each. */
export function addWebhookCommands(program: Command, { io, vault, finish }: CliDeps): void {
  const webhook = program.command("webhook").description("where it is told that a card waits");
  const load = () => import("../vault/webhooks.ts");
  addOperatorCommand(
    webhook,
    "add <NAME>",
    "sign an address that is told of each card that waits",
    "gw webhook add oncall --url https://hooks.example.com/gw --secret oncall-key",
  )
    .requiredOption("--url <URL>", "where; for slack and teams its secret end is written {secret}")
    .addOption(new Option("--format <FORMAT>", "what the receiver reads").choices(WEBHOOK_FORMATS).default("standard"))
    .option("--secret <LABEL>", "the credential that signs, ends the address, or goes along")
    .option("--arguments", "tell the arguments of the call too")
    .option("--console <URL>", "where the link leads", `http://gw.localhost:${defaults.consolePort}`)
    .addOption(new Option("--network <WHERE>", "which addresses").choices(["public", "private"]).default("public"))
    .action(async (name: string, _options, command: Command) =>
      finish(await (await load()).runWebhookAdd(name, optionsOf<WebhookAddOptions>(command), io, vault)),
    );
  addCommand(webhook, "list", "every webhook in signed policy", "gw webhook list").action(
    async (_options, command: Command) => finish(await (await load()).runWebhookList(optionsOf(command), io, vault)),
  );
  addOperatorCommand(webhook, "remove <NAME>", "it is told nothing more", "gw webhook remove oncall").action(
    async (name: string, _options, command: Command) =>
      finish(await (await load()).runWebhookRemove(name, optionsOf(command), io, vault)),
  );
}
