import type { Command } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { TicketOptions } from "../operator/ticket.ts";
import type { ServiceOptions } from "../operator/ticket-services.ts";
import type { OperatorOptions } from "../options.ts";
import { whole } from "./budget-options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addTicketCommands(program: Command, deps: CliDeps): void {
  const { finish } = deps;
  const load = () => import("../operator/ticket.ts");
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  const ticket = program.command("ticket").description("signed work contexts for actions that need a ticket");
  addOperatorCommand(
    ticket,
    "issue <RUN>",
    "sign a work context for a run: this ticket, these operations, these targets",
    "gw ticket issue run_01k... --ref jira:OPS-17 --operation acme.membership.apply \\\n" +
      "  --target 'https://api.acme.example/memberships?project_id=p1' --minutes 30",
  )
    .option("--ref <SYSTEM:REF>", "the ticket; only an emergency does without")
    .requiredOption("--target <URL>", "an exact target, pinned arguments in its query (repeatable)", many)
    .requiredOption("--operation <ACTION>", "an exact operation, PACK.ACTION (repeatable)", many)
    .option(
      "--minutes <N>",
      "how long it is good, never longer than the run; 60 by default",
      whole(1, defaults.runMaximumDurationMs / 60_000),
    )
    .option("--state <TEXT>", "the state that the ticket is in, as you saw it")
    .option("--emergency", "mark every action under it as an emergency; needs --reason")
    .option("--reason <TEXT>", "why it is an emergency")
    .option("--opened-at <TIME>", "when the normal ticket was opened, such as 2030-01-31T12:00:00Z")
    .option("--change <ID>", "the change execution that its attempts belong to; needs --manifest")
    .option("--manifest <FILE>", "the manifest of that change, kept as its digest")
    .action(async (run: string, _options, command: Command) =>
      finish(await (await load()).runTicketIssue(run, optionsOf<TicketOptions>(command), deps)),
    );
  addOperatorCommand(
    ticket,
    "attach <RUN> <FILE>",
    "attach a work context that a configured issuer signed",
    "gw ticket attach run_01k... context.jws",
  ).action(async (run: string, file: string, _options, command: Command) =>
    finish(await (await load()).runTicketAttach(run, file, optionsOf<OperatorOptions>(command), deps)),
  );
  addOperatorCommand(ticket, "show <RUN>", "the work context of a run", "gw ticket show run_01k...").action(
    async (run: string, _options, command: Command) =>
      finish(await (await load()).runTicketShow(run, optionsOf<OperatorOptions>(command), deps)),
  );
  addIssuerCommands(ticket, deps);
  addServiceCommands(ticket, deps);
}

function addServiceCommands(ticket: Command, { io, vault, finish }: CliDeps): void {
  const load = () => import("../operator/ticket-services.ts");
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  const service = ticket.command("service").description("where the gateway itself looks a ticket up before it counts");
  addOperatorCommand(
    service,
    "add <SYSTEM>",
    "sign into policy how tickets of a system are read, and which states are open",
    "gw ticket service add jira --action jira.issue.get --input key \\\n" +
      "  --reference-field /key --state-field /fields/status/name --open 'In Progress'",
  )
    .requiredOption("--action <PACK.ACTION>", "the read that gives a ticket")
    .requiredOption("--input <NAME>", "its input that takes the reference")
    .requiredOption("--reference-field <POINTER>", "where its answer names the ticket")
    .requiredOption("--state-field <POINTER>", "where its answer names the state")
    .requiredOption("--open <STATE>", "a state in which work may go on (repeatable)", many)
    .option("--targets-field <POINTER>", "where its answer lists the targets that the ticket allows")
    .option("--operations-field <POINTER>", "where its answer lists the operations that the ticket allows")
    .action(async (system: string, _options, command: Command) =>
      finish(await (await load()).runTicketServiceAdd(system, optionsOf<ServiceOptions>(command), io, vault)),
    );
  addCommand(service, "list", "the ticket services that signed policy names", "gw ticket service list").action(
    async (_options, command: Command) =>
      finish(await (await load()).runTicketServiceList(optionsOf(command), io, vault)),
  );
  addOperatorCommand(
    service,
    "remove <SYSTEM>",
    "its tickets are no longer looked up",
    "gw ticket service remove jira",
  ).action(async (system: string, _options, command: Command) =>
    finish(await (await load()).runTicketServiceRemove(system, optionsOf(command), io, vault)),
  );
}

function addIssuerCommands(ticket: Command, { io, vault, finish }: CliDeps): void {
  const load = () => import("../operator/ticket-issuers.ts");
  const issuer = ticket.command("issuer").description("whose signatures on work contexts count, beside operators'");
  addOperatorCommand(
    issuer,
    "add <NAME>",
    "sign an issuer and its public key into policy",
    "gw ticket issuer add tickets.example --key issuer.pub",
  )
    .requiredOption("--key <KEY>", "its Ed25519 public key: a file or the line itself (PEM, ssh-ed25519, base64url)")
    .action(async (name: string, _options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly key: string }>(command);
      finish(await (await load()).runTicketIssuerAdd(name, options, io, vault));
    });
  addCommand(issuer, "list", "the issuers that signed policy names", "gw ticket issuer list").action(
    async (_options, command: Command) =>
      finish(await (await load()).runTicketIssuerList(optionsOf(command), io, vault)),
  );
  addOperatorCommand(
    issuer,
    "remove <NAME>",
    "what it signed counts no longer",
    "gw ticket issuer remove tickets.example",
  ).action(async (name: string, _options, command: Command) =>
    finish(await (await load()).runTicketIssuerRemove(name, optionsOf(command), io, vault)),
  );
}
