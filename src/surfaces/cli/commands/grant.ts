import type { Command } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { GrantAddOptions } from "../grant/grant.ts";
import type { OperatorOptions } from "../options.ts";
import { addBudgetOptions, whole } from "./budget-options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption, type HubOption, isOnHub, many } from "./hub.ts";

const ADD_EXAMPLE =
  "gw grant add triage --caller uid:1040 --actions 'github.label.*' --where owner=acme --where 'repo in site,docs' \\\n" +
  "  --effects read,write --per-day 200 --until 2027-03-31 --hours 'mon-fri 08-18'";

export function addGrantCommands(program: Command, deps: CliDeps): void {
  const { io, vault, finish } = deps;
  const grant = program.command("grant").description("decisions made ahead: calls that pass without a card");
  const load = () => import("../grant/grant.ts");
  const loadHub = () => import("../hub/grant.ts");
  const add = elsewhere(
    addOperatorCommand(grant, "add <NAME>", "sign what would be approved again and again", ADD_EXAMPLE),
  )
    .requiredOption(
      "--caller <WHO>",
      "authority:NAME, image:FILE, command:FILE (below gw run) or uid:NUMBER; several have to hold at once",
      gather,
    )
    .requiredOption("--actions <NAME>", "PACK.ACTION or PACK.PART.*; may be repeated", gather)
    .option("--where <CONDITION>", "name=value, name in a,b, name^=beginning, name<=number; all must hold", gather, [])
    .option("--effects <LIST>", "which effects, by comma", (list: string) => list.split(","), ["read"])
    .option(
      "--include <WHAT>",
      "each_use:LABEL, each_use_actions, plans, unpreviewed, purchases, uncapped_cost",
      gather,
      [],
    );
  addBudgetOptions(add)
    .option("--per-day <N>", "calls a UTC day, over all runs", whole(1, 1_000_000), 1_000)
    .option("--idle <DAYS>", "days without a use that end it", whole(1, 366), defaults.grantIdleDays)
    .requiredOption("--until <DATE>", "the last day, a year away at most")
    .option("--hours <TEXT>", "when it counts, in UTC, such as mon-fri 08-18")
    .action(async (name: string, _options, command: Command) => {
      const options = optionsOf<GrantAddOptions & Elsewhere>(command);
      if (isOnHub(options)) finish(await (await loadHub()).runHubGrantAdd(name, options, deps));
      else finish(await (await load()).runGrantAdd(name, options, io, vault));
    });
  addOperatorCommand(
    grant,
    "simulate <NAME>",
    "what it would have let pass of what people were asked, and what they said to it",
    "gw grant simulate triage --since 7d",
  )
    .option("--since <TIME>", "not before: 1h, 7d, yesterday, 2026-11-15, or a time of RFC 3339", "7d")
    .action(async (name: string, _options, command: Command) => {
      const { runGrantSimulate } = await import("../grant/simulate.ts");
      finish(await runGrantSimulate(name, optionsOf<OperatorOptions & { readonly since: string }>(command), io, vault));
    });
  elsewhere(
    addOperatorCommand(grant, "list", "every grant in signed policy, and when it was last used", "gw grant list"),
  ).action(async (_options, command: Command) => {
    const options = optionsOf<OperatorOptions & Elsewhere>(command);
    if (isOnHub(options)) finish(await (await loadHub()).runHubGrantList(options, deps));
    else finish(await (await load()).runGrantList(options, io, vault));
  });
  elsewhere(addOperatorCommand(grant, "show <NAME>", "one grant, whole", "gw grant show triage")).action(
    async (name: string, _options, command: Command) => {
      const options = optionsOf<OperatorOptions & Elsewhere>(command);
      if (isOnHub(options)) finish(await (await loadHub()).runHubGrantShow(name, options, deps));
      else finish(await (await load()).runGrantShow(name, options, io, vault));
    },
  );
  elsewhere(
    addOperatorCommand(grant, "remove <NAME>", "at once, for open sessions too", "gw grant remove triage"),
  ).action(async (name: string, _options, command: Command) => {
    const options = optionsOf<OperatorOptions & Elsewhere>(command);
    if (isOnHub(options)) finish(await (await loadHub()).runHubGrantRemove(name, options, deps));
    else finish(await (await load()).runGrantRemove(name, options, io, vault));
  });
}

type Elsewhere = HubOption & { readonly despite?: readonly string[] };

function elsewhere(command: Command): Command {
  return addHubOption(command, "--despite").option(
    "--despite <GATEWAY>",
    "with --hub: do not believe this one which files it follows (repeatable)",
    many,
  );
}

function gather(word: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), word];
}
