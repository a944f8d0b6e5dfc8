import type { Command } from "commander";
import { answering } from "../answer.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addDemoCommand(program: Command, deps: CliDeps): void {
  addCommand(
    program,
    "demo",
    "play the whole story unattended, with real processes: approve, deny, budgets, revoke, undo, prove",
    "gw demo\ngw demo --home ./demo-home",
  ).action(async (_options, command: Command) => {
    const { home, json } = optionsOf(command);
    // Only a home that was named: the person's own is never played with.
    const named = command.parent?.getOptionValueSource("home") === "cli" ? home : null;
    deps.finish(await answering(deps.io, () => deps.playDemo({ home: named, json })));
  });
}
