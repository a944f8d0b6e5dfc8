import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { test } from "node:test";

const root = dirname(import.meta.dirname);
const page = readFileSync(join(root, "docs", "threat-model.md"), "utf8");

interface Row {
  readonly attack: string;
  readonly stands: string;
  readonly tests: string;
}

function rows(): readonly Row[] {
  const lines = page.split("\n").filter((line) => line.startsWith("|") && !line.startsWith("|---"));
  return lines
    .map((line) => line.slice(1, -1).split(" | "))
    .map((cells) => {
      assert.equal(cells.length, 4, cells[0]);
      const [attack = "", stands = "", tests = ""] = cells.map((cell) => cell.trim());
      return { attack, stands, tests };
    })
    .filter(({ attack }) => attack !== "attack");
}

/** Every test file by the name that the page has for it: without its ending. */
function testFiles(): ReadonlyMap<string, readonly string[]> {
  const files = new Map<string, string[]>();
  for (const folder of ["src", "packages", "demo", "test"])
    for (const entry of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      const name = /^(.+?)(?:\.host)?\.test\.ts$/.exec(basename(entry))?.[1];
      const path = join(root, folder, entry);
      if (name !== undefined) files.set(name, [...(files.get(name) ?? []), path]);
    }
  return files;
}

test("every attack of the threat model names the tests that make it, and they exist", () => {
  const files = testFiles();
  const wrong: string[] = [];
  for (const { attack, stands, tests } of rows()) {
    if (tests === "–") {
      if (stands !== "–") wrong.push(`no test: ${attack}`);
      continue;
    }
    const named = [...tests.matchAll(/`([^`]+)`: "([^"]+)"(?:; |$)/g)];
    if (named.map(([all]) => all).join("") !== tests) wrong.push(`not a list of tests: ${attack}`);
    for (const [, file = "", title = ""] of named)
      if (!(files.get(file) ?? []).some((path) => readFileSync(path, "utf8").includes(title)))
        wrong.push(`${file} has no test "${title}"`);
  }
  assert.deepEqual(wrong, []);
  assert.ok(rows().length >= 84, `${rows().length} rows`);
});

test("HTTP, SSH, MCP and the log have a section each", () => {
  const sections = [...page.matchAll(/^## (.+)$/gm)].map(([, title]) => title ?? "");
  for (const title of ["Calls over HTTP", "SSH", "MCP", "The log"]) assert.ok(sections.includes(title), title);
});
