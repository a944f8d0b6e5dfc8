import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { GW } from "./support/home.ts";

const programs = join(dirname(dirname(GW)), "dist", "src", "programs");
const compiled = process.env["GW_PROGRAM"] === undefined ? { skip: "a clone's own programs are not compiled" } : {};

for (const name of ["gw", "gateway", "gw-ident", "gw-keeper"]) {
  test(`a compiled ${name} loads itself and one part at its start`, compiled, () => {
    assert.deepEqual(importsOf(`${name}.js`), [`./part-${name}.js`]);
    assert.deepEqual(importsOf(`part-${name}.js`), []);
  });

  test(
    `a compiled ${name} loads no more of Node, and takes no more memory, than it has to at its start`,
    compiled,
    () => {
      for (const file of [`${name}.js`, `part-${name}.js`]) {
        const text = readFileSync(join(programs, file), "utf8");
        assert.doesNotMatch(text, /from "koffi"/, "an ES module that imports whole modules of Node's");
        assert.doesNotMatch(text, /[^\0-\x7f]/, "one such character makes the whole file two bytes a character");
      }
    },
  );
}

test("what a command asks for later is loaded later, and takes its names from what is there", compiled, () => {
  const part = readFileSync(join(programs, "gw.js"), "utf8").match(/import\("\.\/(part-gw-\w+\.js)"\)/)?.[1] ?? "";
  assert.ok(importsOf(part).includes("./part-gw.js"), part);
});

function importsOf(file: string): readonly string[] {
  const text = readFileSync(join(programs, file), "utf8");
  const found = [...text.matchAll(/^import (?:[^"]* from )?"(\.\/[^"]+)";$/gm)];
  return [...new Set(found.map(([, from = ""]) => from))];
}
