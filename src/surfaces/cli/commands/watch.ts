import type { Command } from "commander";
import type { OperatorOptions } from "../options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption, type HubOption, isOnHub } from "./hub.ts";

export function addWatchCommand(program: Command, deps: CliDeps): void {
  addHubOption(
    addOperatorCommand(
      program,
      "watch",
      "live approval in the terminal; with --json the news as lines for programs",
      "gw watch\ngw watch --json --passphrase-file FILE\ngw watch --hub postgres://ada@db.example/gw",
    ),
  ).action(async (_options, command: Command) => {
    const { runWatch, runHubWatch } = await import("../watch/run-watch.ts");
    const options = optionsOf<OperatorOptions & HubOption>(command);
    deps.finish(await (isOnHub(options) ? runHubWatch(options, deps) : runWatch(options, deps)));
  });
}
