import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../../src/kernel/defaults.ts";
import { lintPattern } from "./pattern.ts";

test("patterns that packs and routes need are admitted", () => {
  for (const pattern of [
    "^[a-z][a-z0-9-]{0,31}$",
    "^[a-z]+(-[a-z]+)*$",
    "^[a-z]+(?:\\.[a-z]+)*$",
    "^sha256:[0-9a-f]{64}$",
    "^(?:viewer|editor|owner)$",
    "^[^@]+@[^@]+\\.[a-z]+$",
    "^v?[0-9]{1,5}\\.[0-9]{1,5}\\.[0-9]{1,5}$",
    "^\\p{L}+$",
    "^[\\]a-]+$",
    "^(ab){2,5}$",
    "^$",
  ]) {
    assert.equal(lintPattern(pattern, 256), undefined, pattern);
  }
});

test("patterns that could backtrack without bound, or mean less than they seem to, are refused", () => {
  for (const pattern of [
    "^(a+)+$",
    "^(a*)*$",
    "^([a-z]+)*$",
    "^(a|a)*$",
    "^(a|ab)*$",
    "^(-(a|a))*$",
    "^(-a?a?a?)*$",
    "^(-+)*$",
    "^(-a?-)*$",
    "^((-[a-z]+)*)*$",
    "^(\\u002d[a-z]+)*$",
    "^(.[a-z]+)*$",
    "^.*.*.*.*x$",
    `^${"a?".repeat(24)}${"a".repeat(24)}$`,
    "^((a{99}){99}){99}$",
    "^(a)\\1$",
    "^(?<n>a)\\k<n>$",
    "^(?=a)a$",
    "^(?!a)a$",
    "^(?<=a)a$",
    "^a\\b$",
    "^a|b$",
    "a",
    "^a",
    "a$",
    "^a\\$",
    "^a^b$",
    "^(a$",
    "^[a$",
    `^${"a".repeat(300)}$`,
  ]) {
    assert.notEqual(lintPattern(pattern, 256), undefined, pattern);
  }
});

test("a longer text allows fewer choices", () => {
  assert.equal(lintPattern("^.*,.*,.*$", 256), undefined);
  assert.notEqual(lintPattern("^.*,.*,.*$", 4096), undefined);
});

test("of two varying elements neither is free because the other varies as much", () => {
  assert.equal(lintPattern("^[^/]+/.*$", 4096), undefined);
  assert.equal(lintPattern("^[A-Za-z0-9+/]+={0,2}$", 1_000_000), undefined);
  for (const pattern of ["^a*a*$", "^[^/]+/?.*x$"]) assert.notEqual(lintPattern(pattern, 1_000_000), undefined);
});

const LENGTH = 40;
/** Of the choices of a pattern that is admitted, all but the longest have so many ways together. */
const MOST_STEPS = defaults.schemaPatternWork * LENGTH;

/** Steps that a plain backtracking matcher takes. It stands in for the engine, whose steps cannot be counted. */
test("what is admitted stays within its bound of work on the worst text we can find", () => {
  const atom = fc.constantFrom("a", "b", "-", "[ab]", "[a-z]", ".");
  const element = fc.tuple(atom, fc.constantFrom("", "*", "+", "?", "{0,3}")).map(([a, q]) => a + q);
  const group = fc
    .tuple(fc.array(element, { minLength: 1, maxLength: 3 }), fc.constantFrom("", "*", "+", "?"))
    .map(([elements, q]) => `(?:${elements.join("")})${q}`);
  const pattern = fc
    .array(fc.oneof(element, group), { minLength: 1, maxLength: 5 })
    .map((parts) => `^${parts.join("")}$`);
  const unit = fc.constantFrom("a", "b", "-", "-a", "ab", "-ab", "aa");
  fc.assert(
    fc.property(pattern, unit, (source, repeated) => {
      if (lintPattern(source, LENGTH) !== undefined) return;
      const text = `${repeated.repeat(LENGTH).slice(0, LENGTH - 1)}!`;
      assert.ok(steps(source, text) < MOST_STEPS, `${source} on ${text}`);
    }),
    // Two million steps were too few for it.
    { numRuns: 400, examples: [["^a{0,3}(?:a{0,3}a{0,3})a+(?:a*a*)$", "a"]] },
  );
});

function steps(source: string, text: string): number {
  const nodes = parse(source.slice(1, -1));
  let count = 0;
  const match = (list: readonly Node[], at: number, next: (at: number) => boolean): boolean => {
    if (++count > MOST_STEPS) throw new Error(`too many steps: ${source}`);
    const [node, ...rest] = list;
    if (node === undefined) return next(at);
    const repeat = (times: number, from: number): boolean => {
      if (++count > MOST_STEPS) throw new Error(`too many steps: ${source}`);
      const again = (to: number): boolean => (to > from || times < node.least) && repeat(times + 1, to);
      if (times < node.most && once(node, from, again)) return true;
      return times >= node.least && match(rest, from, next);
    };
    return repeat(0, at);
  };
  const once = (node: Node, at: number, next: (at: number) => boolean): boolean => {
    if (node.group !== undefined) return match(node.group, at, next);
    return at < text.length && (node.test?.test(text.charAt(at)) ?? false) && next(at + 1);
  };
  match(nodes, 0, (at) => at === text.length);
  return count;
}

interface Node {
  readonly test?: RegExp;
  readonly group?: readonly Node[];
  readonly least: number;
  readonly most: number;
}

function parse(source: string): readonly Node[] {
  const nodes: Node[] = [];
  let rest = source;
  while (rest !== "") {
    const group = /^\(\?:((?:[^()])*)\)/.exec(rest);
    const atom = group?.[0] ?? /^(?:\[[^\]]*\]|.)/.exec(rest)?.[0] ?? "";
    rest = rest.slice(atom.length);
    const quantifier = /^(?:[*+?]|\{0,3\})/.exec(rest)?.[0] ?? "";
    rest = rest.slice(quantifier.length);
    const least = quantifier === "" || quantifier === "+" ? 1 : 0;
    const most = quantifier === "" || quantifier === "?" ? 1 : quantifier === "{0,3}" ? 3 : Number.POSITIVE_INFINITY;
    nodes.push({ ...(group ? { group: parse(group[1] ?? "") } : { test: new RegExp(`^${atom}$`) }), least, most });
  }
  return nodes;
}
