import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseDocument } from "yaml";
import type { JsonSchema } from "../../../../packages/request/src/schema.ts";
import { readPack } from "../read.ts";
import { packSchema } from "./pack.ts";

const page = readFileSync(join(import.meta.dirname, "../../../../docs/packs.md"), "utf8");

function namesIn(schema: JsonSchema): readonly string[] {
  const inner = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? [])];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [name, ...namesIn(member)]),
    ...inner.flatMap((each) => (typeof each === "object" ? namesIn(each) : [])),
  ];
}

function valuesIn(schema: JsonSchema): readonly string[] {
  const parts = [schema.items, schema.additionalProperties, ...Object.values(schema.properties ?? {})];
  const own = (schema.enum ?? []).filter((value) => typeof value === "string");
  return [...own, ...parts.flatMap((part) => (typeof part === "object" ? valuesIn(part) : []))];
}

test("docs/packs.md names every member and every choice of the format", () => {
  const code = [...page.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? "").join(" ");
  const words = new Set(code.split(/[^A-Za-z0-9_/+-]+/).flatMap((word) => [word, ...word.split("/")]));
  const missing = [...namesIn(packSchema), ...valuesIn(packSchema)].filter((name) => !words.has(name));
  assert.deepEqual([...new Set(missing)], []);
});

test("the YAML in docs/packs.md is YAML, and its actions are those of the example", () => {
  const blocks = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
  assert.ok(blocks.length >= 4);
  for (const block of blocks) assert.deepEqual(parseDocument(block).errors, []);
  const example = readFileSync(join(import.meta.dirname, "../../../../packs/example.yaml"));
  const names = new Set(readPack(example, "example.yaml").pack?.actions.keys());
  for (const block of blocks) {
    for (const match of block.matchAll(/^([a-z_]+\.[a-z_.]+):$/gm)) assert.ok(names.has(match[1] ?? ""), match[1]);
  }
});
