import { isJsonObject, type JsonValue } from "../../kernel/json.ts";

/** A secret that an answer brought, and where it stood. */
export interface Minted {
  readonly pointer: string;
  readonly secret: string;
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
    const taken = take(rest, pointer.split("/").slice(1).map(plainToken), said(pointer));
    if (taken === null) continue;
    rest = taken.value;
    minted.push({ pointer, secret: typeof taken.found === "string" ? taken.found : JSON.stringify(taken.found) });
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
  if (Array.isArray(value)) {
    const at = /^(?:0|[1-9][0-9]{0,8})$/.test(name) ? Number(name) : -1;
    const taken = at in value ? take(value[at] ?? null, rest, note) : null;
    return taken === null ? null : { ...taken, value: value.with(at, taken.value) };
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, name)) return null;
  const taken = take(value[name] ?? null, rest, note);
  return taken === null ? null : { ...taken, value: { ...value, [name]: taken.value } };
}

function plainToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
