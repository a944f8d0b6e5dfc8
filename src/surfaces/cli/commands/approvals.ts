import type { Command } from "commander";
import type { ApproveOptions, EvidenceOption } from "../operator/decide.ts";
import type { OperatorOptions } from "../options.ts";
import { addBudgetOptions } from "./budget-options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption, type HubOption, isOnHub } from "./hub.ts";

const EVIDENCE = "also hashes, processes, parents and digests: they are signed with the card";

export function addApprovalCommands(program: Command, deps: CliDeps): void {
  const { finish } = deps;
  const load = () => import("../operator/decide.ts");
  const loadHub = () => import("../hub/decide.ts");
  addHubOption(addOperatorCommand(program, "approvals", "the questions that wait for a person", "gw approvals --json"))
    .option("--evidence", EVIDENCE)
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & EvidenceOption & HubOption>(command);
      if (isOnHub(options)) finish(await (await loadHub()).runHubApprovals(options, deps));
      else finish(await (await load()).runApprovals(options, deps));
    });
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  const approve = addHubOption(
    addOperatorCommand(
      program,
      "approve [ID]",
      "sign a yes to exactly this card; in a terminal, without ID, to the one that waits",
      "gw approve apr_01k... --attempts 5\ngw approve apr_01k... --hub postgres://ada@db.example/gw",
    ),
  )
    .option("--only <ACTION>", "grant only this action of those asked for (repeatable)", many)
    .option(
      "--where <ACTION CONDITION>",
      "and that action only where its arguments are so: 'acme.file.get path^=docs/' (repeatable)",
      many,
    )
    .option("--grant", "also sign a grant: the narrowest that would have covered it is proposed, to edit")
    .option("--evidence", EVIDENCE);
  addBudgetOptions(approve)
    .option(
      "--ticket <SYSTEM:REF>",
      "the ticket behind it, signed by you for exactly this call; needed where the card says so",
    )
    .option("--ticket-state <TEXT>", "the state that the ticket is in, as you saw it")
    .option("--target <URL>", "with --ticket on a new session: an exact target that it covers (repeatable)", many)
    .option("--emergency", "instead of a ticket, or beside it: marks the call; needs --reason")
    .option("--reason <TEXT>", "why it is an emergency")
    .option("--opened-at <TIME>", "when the normal ticket was opened, such as 2030-01-31T12:00:00Z")
    .action((id: string | undefined, _options, command: Command) => decide(id, "approve", command));
  addHubOption(
    addOperatorCommand(
      program,
      "deny <ID>",
      "sign a no; the reason reaches the agent",
      'gw deny apr_01k... --reason "not on Friday"',
    ),
  )
    .option("--reason <TEXT>", "why")
    .option("--evidence", EVIDENCE)
    .action((id: string, _options, command: Command) => decide(id, "deny", command));
  addHubOption(
    addOperatorCommand(program, "revoke <SESSION>", "end a session now", "gw revoke ses_01k... --reason done"),
  )
    .option("--reason <TEXT>", "why, for the log")
    .action(async (id: string, _options, command: Command) => {
      const options = optionsOf<ApproveOptions & HubOption>(command);
      if (isOnHub(options)) finish(await (await loadHub()).runHubRevoke(id, options, deps));
      else finish(await (await load()).runRevoke(id, options, deps));
    });

  async function decide(id: string | undefined, decision: "approve" | "deny", command: Command): Promise<void> {
    const options = optionsOf<ApproveOptions & HubOption>(command);
    if (isOnHub(options)) finish(await (await loadHub()).runHubDecide(id ?? "", decision, options, deps));
    else finish(await (await load()).runDecide(id, decision, options, deps));
  }
}
