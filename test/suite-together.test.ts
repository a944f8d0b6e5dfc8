import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "./support/home.ts";

const FILES = {
  hooks: `
import { after, beforeEach, test } from "node:test";
beforeEach(() => { globalThis.hooked = (globalThis.hooked ?? 0) + 1; });
after(() => { globalThis.ended = true; });
test("has its hook", () => { if (globalThis.hooked !== 1) throw new Error("no hook"); });
test("fails", () => { throw new Error("on purpose"); });
`,
  plain: `
import { describe, test } from "node:test";
describe("a suite", () => {
  test("has no hook of the file before, which is over", () => {
    if (globalThis.hooked !== 2 || globalThis.ended !== true) throw new Error("another file's hook");
  });
});
`,
  broken: "throw new Error('it does not load');",
};

test("files that run together have their own hooks, and a failure is told of its own file", () => {
  const folder = makeFolder();
  const put = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  put("all.mjs", "export const modules = {};");
  const list = put("list", "[]");
  const files = Object.entries(FILES).map(([name, text]) => put(`${name}.test.ts`, text));
  const program = join(import.meta.dirname, "..", "scripts", "suite", "run-files.ts");
  const env = { PATH: process.env["PATH"], GW_TEST_ONE_FILE: folder };
  const ran = spawnSync(process.execPath, [program, list, "together", ...files], { encoding: "utf8", env });
  const failures = JSON.parse(readFileSync(list, "utf8")) as readonly {
    readonly file: string;
    readonly test: string;
  }[];
  assert.deepEqual(
    failures.map(({ file, test: name }) => [file, name]),
    [
      [files[0], "fails"],
      [files[2], "it is loaded"],
    ],
    ran.stdout + ran.stderr,
  );
  assert.equal(ran.status, 1);
});
