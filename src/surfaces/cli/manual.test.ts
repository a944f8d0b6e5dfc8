import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Command } from "commander";
import type { CliDeps } from "./commands/deps.ts";
import { createProgram } from "./program.ts";

/** The whole program, with a terminal that remembers; describing commands needs nothing else of the machine. */
function describeProgram(): { readonly program: Command; readonly lines: string[] } {
  const lines: string[] = [];
  const io = { out: (line: string) => lines.push(line), err: (line: string) => lines.push(line) };
  const findPlace = async () => ({ home: "/nowhere" });
  const deps = { io, version: "1.2.3", clock: { wallMs: () => 0 }, finish: () => undefined, findPlace };
  return { program: createProgram(deps as unknown as CliDeps), lines };
}

function pathsOf(command: Command, path: readonly string[] = []): readonly (readonly string[])[] {
  return command.commands.flatMap((child) => {
    const here = [...path, child.name()];
    return [here, ...pathsOf(child, here)];
  });
}

test("every command and every one of its options stands on a manual page that man prints without a complaint", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-manual-"));
  try {
    const { program } = describeProgram();
    await program.parseAsync(["manual", folder], { from: "user" });
    const pages = readdirSync(folder);
    assert.equal(pages.length, program.commands.length + 1);
    for (const path of pathsOf(program)) {
      const page = readFileSync(join(folder, `gw-${path[0]}.1`), "utf8").replaceAll("\\-", "-");
      assert.ok(page.includes(`.SS gw ${path.join(" ")} `), path.join(" "));
      const command = path.reduce((found: Command | undefined, name) => childOf(found, name), program);
      for (const { flags, hidden } of command?.options ?? []) assert.ok(hidden || page.includes(`.B ${flags}`), flags);
    }
    if (spawnSync("man", ["--version"]).status !== 0) return;
    for (const name of ["gw.1", "gw-credential.1"]) {
      const env = { ...process.env, MANROFFSEQ: "", MANWIDTH: "100", LC_ALL: "C.UTF-8" };
      const shown = spawnSync("man", ["--warnings", "-l", join(folder, name)], { encoding: "utf8", env });
      assert.deepEqual([shown.status, shown.stderr], [0, ""]);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the help of a command tells what is meant without an option, in the words that would be typed", () => {
  const { program } = describeProgram();
  const helpOf = (path: readonly string[]): string =>
    path.reduce((found: Command | undefined, name) => childOf(found, name), program)?.helpInformation() ?? "";
  for (const path of pathsOf(program)) assert.doesNotMatch(helpOf(path), /default:\s+(\[|false)/, path.join(" "));
  assert.match(helpOf(["grant", "add"]), /\(default: read\)/);
  assert.match(helpOf(["activity", "show"]), /--log <DIR>/);
  assert.doesNotMatch(helpOf(["activity", "show"]), /--follow|--hub/, "what chooses rows is for gw activity");
  assert.match(helpOf(["init"]), /--operator <NAME>\s+what the first operator is called/);
});

test("a number that is none, or not one that could be meant, is refused before the command begins", async () => {
  for (const words of [
    ["audit", "archive", "/nowhere", "--keep-days", "abc"],
    ["audit", "archive", "/nowhere", "--keep-megabytes", "-5"],
    ["reference", "--port", "99999"],
    ["ssh", "check", "app.example", "--credential", "x", "--port", "0"],
    ["credential", "add", "x", "--kind", "bearer", "--secret-fd", "three"],
  ]) {
    const { program } = describeProgram();
    await assert.rejects(program.parseAsync(words, { from: "user" }), { code: "commander.invalidArgument" });
  }
});

test("gw activity show refuses what chooses rows, as it would do nothing", async () => {
  const { program } = describeProgram();
  const words = ["activity", "show", "call_x", "--hub", "postgres://ada@db.example/gw"];
  await assert.rejects(program.parseAsync(words, { from: "user" }), /gw activity show takes no --hub/);
});

test("completion for every shell knows every command", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { program, lines } = describeProgram();
    await program.parseAsync(["completion", shell], { from: "user" });
    const script = lines.join("\n");
    for (const path of pathsOf(program)) {
      const before = path.slice(0, -1).join(" ");
      const line = script.split("\n").find((each) => each.includes(shell === "fish" ? `'${before}'` : `"${before}")`));
      assert.match(line ?? "", new RegExp(`[ ("]${path.at(-1)}[ )"]`), `${shell}: ${path.join(" ")}`);
    }
  }
});

test("what the bash script offers is what may follow, also behind an option with a value", async () => {
  const { program, lines } = describeProgram();
  await program.parseAsync(["completion", "bash"], { from: "user" });
  const ask = 'COMP_WORDS=(gw --home /x policy s); COMP_CWORD=4; _gw gw s policy; echo "$' + '{COMPREPLY[*]}"';
  const done = spawnSync("bash", ["-c", `${lines.join("\n")}\n${ask}`], { encoding: "utf8" });
  assert.equal(done.stdout.trim(), "set show", done.stderr);
});

function childOf(command: Command | undefined, name: string): Command | undefined {
  return command?.commands.find((child) => child.name() === name);
}
