import { quote } from "../../conventions/approval/render-line.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Run } from "../run/run.ts";

/**
 * What opaque ids stand for, so that a person reads more than an id: the names that a provider gave them in answers to reads of the
 * very same run. What nobody has read has no name here, and nothing is looked up for it.
 */
interface Known {
  readonly name: string;
  readonly by: string;
}

const books = new WeakMap<Run, Map<string, Known>>();
/** Of one run; the oldest goes first. */
const KEPT = 2_000;
const LOOKED_AT = 20_000;
const NAME_CHARACTERS = 120;
const NOTES = 8;
/** What is shorter, or a mere number, is read by people as it is. */
const OPAQUE = /^(?=.*[A-Za-z])[A-Za-z0-9_=+/:-]{8,128}$/;
/** By the pack and the origin that answered: no provider names what is another's. */
export type Speaker = Readonly<Record<"pack" | "origin", string>>;

/** From the answer to a read that succeeded. */
export function learnNames(run: Run, speaker: Speaker, action: string, body: JsonValue): void {
  const known = books.get(run) ?? new Map<string, Known>();
  books.set(run, known);
  for (const value of valuesIn(body)) {
    if (!isJsonObject(value)) continue;
    const name = nameOf(value);
    const { id } = value;
    if (name === null || typeof id !== "string" || !OPAQUE.test(id)) continue;
    const key = keyOf(speaker, id);
    known.delete(key);
    known.set(key, { name, by: action });
  }
  for (const id of known.keys()) {
    if (known.size <= KEPT) break;
    known.delete(id);
  }
}

/** A line of the card for each id among the input that has a name. */
export function nameIds(run: Run, speaker: Speaker, input: JsonObject): readonly string[] {
  const known = books.get(run);
  if (known === undefined) return [];
  const notes = new Set<string>();
  for (const value of valuesIn(input)) {
    const found = typeof value === "string" ? known.get(keyOf(speaker, value)) : undefined;
    if (found === undefined || notes.size >= NOTES) continue;
    notes.add(`${quote(String(value))} is ${found.name}, as the provider answered ${found.by} in this run`);
  }
  return [...notes];
}

const keyOf = ({ pack, origin }: Speaker, id: string): string => `${pack} ${origin} ${id}`;

/**
 * What tells it from everything of the same name: a title alone, or "app" without whose it is, is no name. In the provider's words, which
 * may be anybody's: quoted, so that they cannot end what is said of them.
 */
function nameOf(value: JsonObject): string | null {
  const whole = textIn(value, "nameWithOwner") ?? textIn(value, "login");
  if (whole !== null) return quote(whole);
  const own = textIn(value, "title") ?? textIn(value, "name");
  const owner = textIn(value["owner"], "login");
  const at = textIn(value["repository"], "nameWithOwner") ?? textIn(value, "url");
  if (owner !== null && own !== null) return quote(`${owner}/${own}`);
  if (at === null) return null;
  const { number } = value;
  const numbered = typeof number === "number" && Number.isSafeInteger(number) ? [`#${number}`] : [];
  const named = [...numbered, ...(own === null ? [] : [quote(own)])].join(" ");
  return named === "" ? quote(at) : `${named} at ${quote(at)}`;
}

function textIn(value: JsonValue | undefined, name: string): string | null {
  const text = value !== undefined && isJsonObject(value) ? value[name] : undefined;
  return typeof text === "string" && text !== "" ? text.slice(0, NAME_CHARACTERS) : null;
}

/** All that stand in it, as far as anybody would look. */
function* valuesIn(root: JsonValue): Generator<JsonValue> {
  const left = [root];
  for (let looked = 0; looked < LOOKED_AT; looked++) {
    const value = left.pop();
    if (value === undefined) return;
    yield value;
    if (typeof value === "object" && value !== null) left.push(...Object.values(value).slice(0, LOOKED_AT));
  }
}
