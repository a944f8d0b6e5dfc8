import type { Command } from "commander";
import type { OperatorOptions } from "../options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addWatchCommand(program: Command, deps: CliDeps): void {
  addOperatorCommand(
    program,
    "watch",
    "live approval in the terminal; with --json the news as lines for programs",
    "gw watch\ngw watch --json --passphrase-file FILE",
  ).action(async (_options, command: Command) => {
    const { runWatch } = await import("../watch/run-watch.ts");
    deps.finish(await runWatch(optionsOf<OperatorOptions>(command), deps));
  });
}
