import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { printClosures } from "./closure-print.ts";

type Graph = Readonly<Record<string, { readonly content: string; readonly below: readonly string[] }>>;

function prints(graph: Graph, order = Object.keys(graph)): ReadonlyMap<string, string> {
  return printClosures(
    order,
    (name) => graph[name]?.below ?? [],
    (name) => graph[name]?.content ?? "",
  );
}

/** Everything reachable from a name, the slow and plain way. */
function reachable(graph: Graph, name: string): ReadonlySet<string> {
  const found = new Set([name]);
  for (const one of found) for (const next of graph[one]?.below ?? []) found.add(next);
  return found;
}

const NAMES = ["a", "b", "c", "d", "e", "f"];
const graphs = fc.record(
  Object.fromEntries(
    NAMES.map((name) => [
      name,
      fc.record({
        content: fc.constantFrom("x", "y"),
        below: fc.uniqueArray(fc.constantFrom(...NAMES)).map((below) => below.sort()),
      }),
    ]),
  ),
) as fc.Arbitrary<Graph>;

test("the order in which names are visited never matters", () => {
  fc.assert(
    fc.property(graphs, fc.shuffledSubarray(NAMES, { minLength: NAMES.length }), (graph, order) => {
      assert.deepEqual(new Map([...prints(graph, order)].sort()), new Map([...prints(graph)].sort()));
    }),
  );
});

test("a change is in the print of exactly those who reach it", () => {
  fc.assert(
    fc.property(graphs, fc.constantFrom(...NAMES), (graph, changed) => {
      const before = prints(graph);
      const after = prints({ ...graph, [changed]: { below: graph[changed]?.below ?? [], content: "changed" } });
      for (const name of NAMES) {
        assert.equal(before.get(name) !== after.get(name), reachable(graph, name).has(changed), name);
      }
    }),
    { numRuns: runsOf(300) },
  );
});

test("names of one knot have different prints", () => {
  const knot: Graph = { a: { content: "x", below: ["b"] }, b: { content: "x", below: ["a"] } };
  assert.equal(new Set(prints(knot).values()).size, 2);
});

test("a chain of thirty thousand names does not use up the stack", () => {
  const chain: Record<string, { content: string; below: string[] }> = {};
  for (let n = 0; n < 30_000; n++) chain[`n${n}`] = { content: "x", below: [`n${n + 1}`] };
  assert.equal(prints(chain).get("n0")?.startsWith("sha256:"), true);
});
