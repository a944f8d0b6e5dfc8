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
const NAMED_BY = ["nameWithOwner", "title", "name", "login"] as const;

/** From the answer to a read that succeeded. */
export function learnNames(run: Run, action: string, body: JsonValue): void {
  const known = books.get(run) ?? new Map<string, Known>();
  books.set(run, known);
  for (const value of valuesIn(body)) {
    if (!isJsonObject(value)) continue;
    const name = nameOf(value);
    const { id } = value;
    if (name === null || typeof id !== "string" || !OPAQUE.test(id)) continue;
    known.delete(id);
    known.set(id, { name, by: action });
  }
  for (const id of known.keys()) {
    if (known.size <= KEPT) break;
    known.delete(id);
  }
}

/** A line of the card for each id among the input that has a name. */
export function nameIds(run: Run, input: JsonObject): readonly string[] {
  const known = books.get(run);
  if (known === undefined) return [];
  const notes = new Set<string>();
  for (const value of valuesIn(input)) {
    const found = typeof value === "string" ? known.get(value) : undefined;
    if (found === undefined || notes.size >= NOTES) continue;
    notes.add(`${quote(String(value))} is ${found.name}, as the provider answered ${found.by} in this run`);
  }
  return [...notes];
}

/** In the provider's words, which may be anybody's: quoted, so that they cannot end what is said of them. */
function nameOf(value: JsonObject): string | null {
  const key = NAMED_BY.find((one) => typeof value[one] === "string" && value[one] !== "");
  if (key === undefined) return null;
  const text = quote(String(value[key]).slice(0, NAME_CHARACTERS));
  const { number } = value;
  return typeof number === "number" && Number.isSafeInteger(number) ? `#${number} ${text}` : text;
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
