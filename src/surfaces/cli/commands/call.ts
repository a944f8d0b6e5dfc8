import { type Command, InvalidArgumentError } from "commander";
import type { CallOptions } from "../call.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addCallCommand(program: Command, { io, finish }: CliDeps): void {
  addCommand(
    program,
    "actions [PATTERN]",
    "what can be called, with its arguments; one alone with a call to copy",
    "gw actions\ngw actions 'acme.project.*'\ngw actions acme.project.list",
  ).action(async (pattern: string | undefined, _options, command: Command) => {
    const { runActions } = await import("../actions.ts");
    finish(await runActions(pattern, optionsOf(command), io));
  });
  addCommand(
    program,
    "call <ACTION> [ARGUMENTS...]",
    "call an action as an agent does; a person approves",
    'gw call acme.project.list state=active\ngw call acme.report.create --input \'{"account":"a1","format":"csv"}\'',
  )
    .option("--input <JSON>", "the arguments as one JSON object")
    .option("--wait <SECONDS>", "how long to wait for a person", readSeconds, 300)
    .option("--run <RUN>", "join this run, with a card of its own")
    .option("--repeat-of <ID>", "ask a person for a second one although this operation is open")
    .option("--purpose <TEXT>", "what the person is told, as your words")
    .action(async (action: string, pairs: string[], _options, command: Command) => {
      const { runCall } = await import("../call.ts");
      finish(await runCall(action, pairs, { ...optionsOf<CallOptions>(command), ...wrappedBy(process.env) }, io));
    });
}

export function wrappedBy({ GW_RUN: run, GW_HOME: home }: NodeJS.ProcessEnv): Pick<CallOptions, "wrapped"> {
  return run === undefined || run === "" || home === undefined ? {} : { wrapped: { run, home } };
}

export function readSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isSafeInteger(seconds) || seconds < 0 || seconds > 86_400) {
    throw new InvalidArgumentError("whole seconds, 0 to 86400");
  }
  return seconds;
}
