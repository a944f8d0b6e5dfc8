import type { Command } from "commander";
import { isJobErrand, jobErrands, operationErrands } from "../../../conventions/operation/errand.ts";
import type { OperationOptions } from "../operator/operations.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption, type HubOption, isOnHub } from "./hub.ts";

export function addOperationCommands(program: Command, deps: CliDeps): void {
  const { finish } = deps;
  const load = () => import("../operator/operations.ts");
  const loadHub = () => import("../hub/operations.ts");
  const operation = program
    .command("operation")
    .description("work that goes on at a provider, and outcomes nobody saw");
  addHubOption(addOperatorCommand(operation, "list", "what is open", "gw operation list --all --json"))
    .option("--all", "what has ended lately too")
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperationOptions & HubOption>(command);
      if (isOnHub(options)) finish(await (await loadHub()).runHubOperationList(options, deps));
      else finish(await (await load()).runOperationList(options, deps));
    });
  addHubOption(
    addOperatorCommand(
      operation,
      "settle <ID>",
      "say what became of it, under your signature, where nothing else can tell",
      'gw operation settle op_01k... --happened no --reason "not in the order list of 12:00"',
    ),
  )
    .requiredOption("--happened <yes|no>", "what you found at the provider")
    .requiredOption("--reason <TEXT>", "how you know, for the record")
    .option("--although <TEXT>", "why not to wait, where evidence may still come by itself")
    .action(async (id: string, _options, command: Command) => {
      const options = optionsOf<OperationOptions & HubOption>(command);
      if (isOnHub(options)) finish(await (await loadHub()).runHubSettle(id, options, deps));
      else finish(await (await load()).runSettle(id, options, deps));
    });
  addOperatorCommand(
    operation,
    "adopt <GATEWAY>",
    "take over what a silent gateway of the hub had under way, to look after it here",
    "gw operation adopt web1",
  ).action(async (name: string, _options, command: Command) =>
    finish(await (await load()).runAdopt(name, optionsOf<OperationOptions>(command), deps)),
  );
  const verbs = {
    show: "one operation with its history",
    ...jobErrands,
    reconcile: "read it now, once more where its reads are used up",
  };
  for (const verb of ["show", ...operationErrands] as const) {
    const description = verbs[verb];
    const added = addOperatorCommand(operation, `${verb} <ID>`, description, `gw operation ${verb} op_01k...`);
    if (isJobErrand(verb)) added.requiredOption("--reason <TEXT>", "why, for the record");
    addHubOption(added);
    added.action(async (id: string, _options, command: Command) => {
      const options = optionsOf<OperationOptions & HubOption>(command);
      if (!isOnHub(options)) return finish(await (await load()).runOperation(verb, id, options, deps));
      const hub = await loadHub();
      finish(
        verb === "show"
          ? await hub.runHubOperationShow(id, options, deps)
          : await hub.runHubErrand(verb, id, options, deps),
      );
    });
  }
}
