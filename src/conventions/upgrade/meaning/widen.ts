import { isPaging } from "./steering.ts";
import { splitWords } from "./words.ts";

const WIDE_WORDS = new Set([
  "all",
  "any",
  "everyone",
  "everything",
  "public",
  "global",
  "organization",
  "account",
  "recursive",
  "full",
  "write",
  "admin",
  "owner",
  "open",
  "*",
]);
const WIDE_FLAGS =
  /^(?:include|all|with|force|recursive|expand|archived|deleted|inactive|public|global|cascade|notify|send|override|auto)/;

/** Whether leaving a parameter out means more than it did. Both are canonical JSON, or null when nothing is said. */
export function isWiderDefault(name: string, before: string | null, after: string | null): boolean {
  const old = parse(before);
  const next = parse(after);
  if (typeof old === "number" && typeof next === "number") return next > old && (isPaging(name) || isCeiling(name));
  if (typeof next === "boolean") return next && old !== true && WIDE_FLAGS.test(splitWords(name).join("_"));
  if (typeof next === "string") return isWide(next) && !(typeof old === "string" && isWide(old));
  if (Array.isArray(old) && Array.isArray(next))
    return next.length > old.length && old.every((item) => includes(next, item));
  // A filter that had a default and lost it leaves the choice to the provider.
  return before !== null && after === null;
}

function isCeiling(name: string): boolean {
  return splitWords(name).some((word) =>
    ["max", "maximum", "count", "depth", "days", "ttl", "duration", "amount"].includes(word),
  );
}

function isWide(value: string): boolean {
  return value === "*" || splitWords(value).some((word) => WIDE_WORDS.has(word));
}

function includes(list: readonly unknown[], item: unknown): boolean {
  return list.some((other) => JSON.stringify(other) === JSON.stringify(item));
}

function parse(json: string | null): unknown {
  return json === null ? undefined : JSON.parse(json);
}
