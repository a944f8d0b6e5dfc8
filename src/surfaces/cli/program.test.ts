import assert from "node:assert/strict";
import { test } from "node:test";
import type { Command } from "commander";
import type { CliDeps } from "./commands/deps.ts";
import { createProgram } from "./program.ts";

const deps = { version: "1.2.3", clock: { wallMs: () => 0 } } as unknown as CliDeps;

function helpOf(command: Command): string {
  return [command.helpInformation(), ...command.commands.map(helpOf)].join("\n");
}

test("the word that was typed brings its command as the whole program has it, and few others", () => {
  const whole = createProgram(deps);
  const toldOfAll = ["completion", "manual"];
  for (const command of whole.commands) {
    const word = command.name();
    const part = createProgram(deps, word);
    const found = part.commands.find((one) => one.name() === word);
    assert.ok(found !== undefined, word);
    assert.equal(helpOf(found), helpOf(command), word);
    assert.equal(part.commands.length < whole.commands.length / 2, !toldOfAll.includes(word), word);
  }
});

test("without a word, or with one that is no command, all commands are there", () => {
  const whole = createProgram(deps).commands.map((command) => command.name());
  for (const word of ["", "--help", "-h", "help", "stat", "constructor"])
    assert.deepEqual(
      createProgram(deps, word).commands.map((command) => command.name()),
      whole,
      word,
    );
});
