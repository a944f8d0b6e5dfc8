import { memberOf, pointerNames } from "../../../packages/request/src/pointer.ts";
import { type JsonObject, type JsonValue, textsIn } from "../../kernel/json.ts";

/** A secret that an answer brought, and where it stood. */
export interface Minted {
  readonly pointer: string;
  readonly secret: string;
  /** What must not stand anywhere else: the secret, and each text in one that is an object or a list. */
  readonly texts: readonly string[];
}

/**
 * Takes the members that hold a new secret out of an answer, so that nothing behind this ever sees them. A note stands in
 * their place: `said` gives its words.
 */
export function takeMinted(
  body: JsonValue,
  pointers: readonly string[],
  said: (pointer: string) => string,
): { readonly body: JsonValue; readonly minted: readonly Minted[] } {
  const minted: Minted[] = [];
  let rest = body;
  for (const pointer of pointers) {
    const taken = take(rest, pointerNames(pointer), said(pointer));
    if (taken === null) continue;
    rest = taken.value;
    const secret = typeof taken.found === "string" ? taken.found : JSON.stringify(taken.found);
    minted.push({ pointer, secret, texts: [...new Set([secret, ...textsIn(taken.found)])] });
  }
  return { body: rest, minted };
}

interface Taken {
  readonly value: JsonValue;
  readonly found: JsonValue;
}

function take(value: JsonValue, path: readonly string[], note: string): Taken | null {
  const [name, ...rest] = path;
  if (name === undefined) return value === null ? null : { value: note, found: value };
  const taken = take(memberOf(value, name) ?? null, rest, note);
  if (taken === null) return null;
  const around = Array.isArray(value)
    ? value.with(Number(name), taken.value)
    : { ...(value as JsonObject), [name]: taken.value };
  return { ...taken, value: around };
}
