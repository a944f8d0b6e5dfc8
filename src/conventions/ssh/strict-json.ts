import type { JsonValue } from "../../kernel/json.ts";

const DEPTH_MAX = 16;

/**
 * One strict JSON text, small enough to read on a host that has nothing but Node. JSON.parse keeps to the grammar but
 * takes a member twice; every member of a valid text has one colon outside strings, so a lost member shows in the count.
 */
export function parseStrictJson(text: string): JsonValue | undefined {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
  const members = countMembers(value);
  return members === undefined || members !== countColons(text) ? undefined : value;
}

/** Bytes that are not UTF-8, or that begin with a byte order mark, are no JSON text. */
export function decodeStrictUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function countColons(text: string): number {
  let colons = 0;
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) inString = !inString;
    else if (inString && unit === 0x5c) at++;
    else if (!inString && unit === 0x3a) colons++;
  }
  return colons;
}

function countMembers(root: JsonValue): number | undefined {
  let members = 0;
  let level: JsonValue[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_MAX) return undefined;
    const below: JsonValue[] = [];
    for (const value of level) {
      if (typeof value !== "object" || value === null) continue;
      const children = Object.values(value);
      if (!Array.isArray(value)) members += children.length;
      for (const child of children) below.push(child);
    }
    level = below;
  }
  return members;
}
