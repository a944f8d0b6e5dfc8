import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { drawTerminal } from "../scripts/pictures.ts";
import { asUser, makeFolder, until } from "./support/home.ts";
import { noTmux, openPane, type Pane } from "./support/pane.ts";
import { shots } from "./support/shots.ts";

const root = dirname(import.meta.dirname);
const terminal = noTmux === null ? asUser : { skip: noTmux };
const PASSPHRASE = "a long enough phrase of somebody";
const PIN = "493817";
/** Generous: nobody waits for it to pass. A dozen programs start from sources one after another, with a person's whole key derivation. */
const PATIENCE_MS = 240_000;
const LIMIT_MS = 900_000;

interface Step {
  readonly command: string;
  readonly printed: readonly string[];
}

test("README's first real use works word by word, and prints what it says", {
  ...terminal,
  timeout: LIMIT_MS,
}, async (context) => {
  const [start = [], person = [], ...agents] = readBlocks("A first real use, in five minutes");
  assert.ok(agents.length >= 3, "README shows a start, a person, an agent, the record and an API of one's own");
  const folder = makeFolder();
  const clone = openClone(folder);
  const open = (columns: number, rows: number): Pane => {
    // The terminal's own program is told of another shell than the person's.
    const shell = `cd '${clone}' && SHELL=/bin/bash exec bash --noprofile -i`;
    const pane = openPane(folder, shell, environment(folder), { columns, rows });
    context.after(() => pane.close());
    return pane;
  };

  const gateway = open(160, 50);
  for (const { command } of start) {
    enter(gateway, command);
    await answer(gateway, [["Enter for a generated one", "own"]]);
    for (const prompt of ["New passphrase:", "Once more:"]) await answer(gateway, [[prompt, PASSPHRASE]]);
    await gateway.shows("It runs.", PATIENCE_MS);
  }

  const watch = open(80, 24);
  for (const { command } of person) {
    enter(watch, `clear; ${command}`);
    if (command.includes(" operator pin")) {
      await answer(watch, [["Passphrase of", PASSPHRASE]]);
      for (const prompt of ["New PIN:", "Once more:"]) await answer(watch, [[prompt, PIN]]);
      await watch.shows("The PIN is set.", PATIENCE_MS);
    } else if (command.includes(" watch")) {
      await answer(watch, [["Passphrase of", PASSPHRASE]]);
      await watch.shows("No card waits", PATIENCE_MS);
    } else await ended(watch);
  }

  // Opened after setup-shell, as the page says: plain gw is the one that it put there, and not one that the suite's path has.
  const agent = open(200, 50);
  enter(agent, "command -v gw");
  await agent.shows(join(folder, ".local", "bin", "gw"), PATIENCE_MS);
  let card = "";
  for (const [step, { command, printed }] of agents.flat().entries()) {
    enter(agent, `clear; ${command}; echo LEFT ${step} $?`);
    const left = () => new RegExp(`^LEFT ${step} \\d+$`, "m").exec(agent.text());
    let asked = 0;
    await until(
      `${command} ends`,
      () => {
        if (card === "" && /\ba approve\b/.test(watch.text())) card = watch.painted();
        // Somebody who is told that they are waited for: nobody is quicker than that.
        const asks = !command.startsWith("gw call") || agent.text().includes("Waiting for a person");
        if (asks && /^\s*(?:>|\d).*left/m.test(watch.text())) decide(watch);
        const prompts = agent.text().match(/^Passphrase of .*:$/gm)?.length ?? 0;
        for (; asked < prompts; asked++) enter(agent, PASSPHRASE);
        return left() !== null;
      },
      PATIENCE_MS,
    ).catch((error: unknown) => assert.fail(`${error}\n${agent.text()}\n${watch.text()}`));
    assert.equal(left()?.[0], `LEFT ${step} 0`, `${command}\n${agent.text()}`);
    for (const line of printed) assert.match(agent.text(), shapeOf(line), `${command} prints: ${line}`);
  }
  assert.match(card, /project_id = "project-001"/, "the first screen of the card holds the call with its argument");
  writeFileSync(join(shots, "card.svg"), drawTerminal("A card in gw watch", card));
  context.diagnostic(`the card is drawn in ${join(shots, "card.svg")}`);
});

/** Reads on to the end of the card, and says yes with the PIN. */
function decide(watch: Pane): void {
  const seen = watch.text();
  if (/PIN: _/.test(seen)) enter(watch, PIN);
  else if (/\ba approve\b/.test(seen)) watch.type("a");
  else watch.type("Enter");
}

async function answer(pane: Pane, answers: readonly (readonly [string, string])[]): Promise<void> {
  for (const [prompt, text] of answers) {
    await pane.shows(prompt, PATIENCE_MS);
    enter(pane, text);
  }
}

async function ended(pane: Pane): Promise<void> {
  enter(pane, "echo LEFT $?");
  await pane.shows(/^LEFT 0$/m, PATIENCE_MS);
}

function enter(pane: Pane, text: string): void {
  pane.write(text);
  pane.type("Enter");
}

/** What a clone looks like to somebody who may write into its folder. */
function openClone(folder: string): string {
  const clone = join(folder, "gw");
  mkdirSync(clone);
  for (const name of readdirSync(root)) if (name !== ".git") symlinkSync(join(root, name), join(clone, name));
  writeFileSync(join(clone, "token.txt"), "a-token-0123456789abcdef\n", { mode: 0o600 });
  return clone;
}

/** A user who has just got an account. */
function environment(folder: string): NodeJS.ProcessEnv {
  const inherited = { PATH: process.env["PATH"], HOME: folder, XDG_STATE_HOME: join(folder, "state") };
  return { ...inherited, PS1: "$ ", npm_config_update_notifier: "false" };
}

/** The fenced blocks of a section, as commands and what the page says they print. */
function readBlocks(title: string): readonly (readonly Step[])[] {
  const page = readFileSync(join(root, "README.md"), "utf8");
  const section = page.split(/^## /m).find((part) => part.startsWith(title)) ?? "";
  return [...section.matchAll(/^```\n(.*?)^```$/gms)].map(([, block = ""]) =>
    block.split(/^\$ /m).flatMap((part) => {
      const [command = "", ...printed] = part.trimEnd().split("\n");
      // A comment would swallow what the test adds behind the command.
      return command === ""
        ? []
        : [{ command: command.replace(/ +# .*$/, ""), printed: printed.filter((line) => line !== "") }];
    }),
  );
}

/** Numbers, times, names and what is left out may differ; words may not. */
function shapeOf(line: string): RegExp {
  const literal = line
    .replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:]+Z/g, "[-\\d]+T[:\\d]+Z")
    .replaceAll(/call_[0-9a-z]+/g, "call_\\w+")
    .replaceAll(/(?<![-\\\w])\d+/g, "\\d+")
    .replaceAll("…", ".*")
    .replaceAll(/ +/g, " +");
  return new RegExp(`^${literal}`, "m");
}
