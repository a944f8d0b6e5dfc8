import type { Command } from "commander";
import type { RunOptions } from "../run/run.ts";
import { addBudgetOptions, whole } from "./budget-options.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addRunCommand(program: Command, deps: CliDeps): void {
  const run = addCommand(
    program,
    "run <COMMAND...>",
    "run an agent under one approval: what it starts may act, as long as this wrapper lives",
    'gw run --actions "acme.*" -- node agent.js\ngw run --purpose "close stale issues" --minutes 30 -- sh -c "gw call acme.project.list"',
  )
    .option(
      "--actions <NAME...>",
      'what it may do: PACK.ACTION, "PACK.*" or "PACK.PART.*", one after the other or with commas; every trusted pack when left out',
      (text: string, before: readonly string[] | undefined) => [...(before ?? []), ...text.split(",")],
    )
    .option(
      "--contain",
      "in a box without a network of its own: curl, git and other tools act through the gateway, as they are",
    )
    .option("--write <DIR...>", "with --contain: folders that stay writable beside the working folder")
    .option(
      "--learn <DIR>",
      "with --contain: drafts packs of what was refused into this folder, for a person to review",
    )
    .option(
      "--proxy",
      "without a box: tools are asked to use a proxy of this program. Contains nothing, and the card says so",
    )
    .option("--purpose <TEXT>", "what the person is told, as your words")
    .option("--wait <SECONDS>", "how long to wait for a person", whole(0, 86_400), 300);
  addBudgetOptions(run).action(async (words: string[], _options, command: Command) => {
    const { runWrapped } = await import("../run/run.ts");
    deps.finish(await runWrapped(words, optionsOf<RunOptions>(command), deps.io, await deps.wrapper()));
  });
}
