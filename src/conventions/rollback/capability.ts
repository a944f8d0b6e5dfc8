import type { JsonValue } from "../../kernel/json.ts";
import type { ProvenanceRecord } from "./record.ts";

/** Shorter texts are words, and withholding every answer with such a word in it would protect nothing. */
const TELLING_CHARACTERS = 12;
const TIME = /^\d{4}-\d\d-\d\dT[\d:.]{5,15}(?:Z|[+-]\d\d:\d\d)$/;

/** More members than this are no authority over one deployment; nothing beyond is looked for. */
const MOST = 16;

/** A path, or a method and a path: every capability of one kind names the same. */
const ROUTE = /^(?:[A-Z]{3,7} )?\//;

/**
 * The texts in a provider's capability that must not come back in any answer. Times, routes and what the provenance says
 * anyway tell nobody anything, and an answer may well hold them.
 */
export function secretTexts(capability: JsonValue, provenance: Partial<ProvenanceRecord>): readonly string[] {
  const known = new Set<JsonValue>(Object.values(provenance));
  const texts = leavesOf(capability).filter((text) => isTelling(text) && !known.has(text));
  return [...new Set(texts)].slice(0, MOST);
}

function leavesOf(value: JsonValue): readonly string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value as Readonly<Record<string, JsonValue>>).flatMap(leavesOf);
}

function isTelling(text: string): boolean {
  return text.length >= TELLING_CHARACTERS && !ROUTE.test(text) && !TIME.test(text);
}
