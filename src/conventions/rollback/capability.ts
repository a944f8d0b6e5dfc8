import { type JsonValue, textsIn } from "../../kernel/json.ts";
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
  const texts = textsIn(capability).filter((text) => isTelling(text) && !known.has(text));
  return [...new Set(texts)].slice(0, MOST);
}

function isTelling(text: string): boolean {
  return text.length >= TELLING_CHARACTERS && !ROUTE.test(text) && !TIME.test(text);
}
