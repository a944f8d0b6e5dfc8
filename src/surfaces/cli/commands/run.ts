import { type Command, InvalidArgumentError } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { RunOptions } from "../run/run.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addRunCommand(program: Command, deps: CliDeps): void {
  addCommand(
    program,
    "run <COMMAND...>",
    "run an agent under one approval: what it starts may act, as long as this wrapper lives",
    'gw run --actions "acme.*" -- node agent.js\ngw run --purpose "close stale issues" --minutes 30 -- sh -c "gw call acme.project.list"',
  )
    .option("--actions <NAME...>", 'what it may do: PACK.ACTION or "PACK.*"; every trusted pack when left out')
    .option("--purpose <TEXT>", "what the person is told, as your words")
    .option("--wait <SECONDS>", "how long to wait for a person", wholeUpTo(0, 86_400), 300)
    .option("--attempts <N>", "at most so many sends", wholeUpTo(1, defaults.runMaximumAttempts))
    .option(
      "--side-effects <N>",
      "at most so many sends that change something",
      wholeUpTo(0, defaults.runMaximumSideEffects),
    )
    .option("--minutes <N>", "at most so long", wholeUpTo(1, defaults.runMaximumDurationMs / 60_000))
    .option("--spend <CENTS>", "at most so much money", wholeUpTo(0, defaults.runMaximumSpendCents))
    .action(async (words: string[], _options, command: Command) => {
      const { runWrapped } = await import("../run/run.ts");
      deps.finish(await runWrapped(words, optionsOf<RunOptions>(command), deps.io, await deps.wrapper()));
    });
}

function wholeUpTo(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= least && value <= most && /^[0-9]+$/.test(text)) return value;
    throw new InvalidArgumentError(`a whole number from ${least} to ${most}`);
  };
}
