import { showIdentifier } from "../../kernel/display.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";

/** One value of a resource: what goes, what comes, or what stays as it is. */
export interface Difference {
  readonly sign: "-" | "+" | " ";
  readonly path: string;
  readonly value: JsonValue;
}

/** What stands where there is no value at all; JSON has no such thing, so it cannot be mistaken for one. */
type Held = JsonValue | undefined;

/**
 * The difference between two values, leaf by leaf, by path. Every leaf of both is in it exactly once: what is the same on
 * both sides stays, everything else goes or comes. A list of plain values is compared as a list, so that one entry less
 * at its head is one entry less, and not a change of all that follow.
 */
export function diffValues(before: Held, after: Held, path = ""): readonly Difference[] {
  if (isFilled(before) && isFilled(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => diffValues(ownOf(before, name), ownOf(after, name), join(path, name)));
  }
  if (isList(before) && isList(after)) {
    if (isPlain(before) && isPlain(after)) return diffLists(before, after, `${path}[]`);
    const longest = Math.max(before.length, after.length);
    return Array.from({ length: longest }, (_, at) => diffValues(before[at], after[at], `${path}[${at}]`)).flat();
  }
  if (before !== undefined && after !== undefined && isSame(before, after)) return leavesOf(" ", path, before);
  return [...leavesOf("-", path, before), ...leavesOf("+", path, after)];
}

function leavesOf(sign: Difference["sign"], path: string, value: Held): readonly Difference[] {
  if (value === undefined) return [];
  if (isFilled(value))
    return Object.entries(value).flatMap(([name, member]) => leavesOf(sign, join(path, name), member));
  if (isList(value)) return value.flatMap((member, at) => leavesOf(sign, `${path}[${at}]`, member));
  return [{ sign, path, value }];
}

/** Longest common run of entries, in order. Quadratic, so long lists are compared place by place. */
function diffLists(before: readonly JsonValue[], after: readonly JsonValue[], path: string): readonly Difference[] {
  const put = (sign: Difference["sign"], value: JsonValue): Difference => ({ sign, path, value });
  if (before.length * after.length > MAX_CELLS) {
    const [gone, come] = [before.map((value) => put("-", value)), after.map((value) => put("+", value))];
    return [...gone, ...come];
  }
  const width = after.length + 1;
  const common = new Uint16Array((before.length + 1) * width);
  const cell = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] =
        before[i] === after[j] ? 1 + cell(i + 1, j + 1) : Math.max(cell(i + 1, j), cell(i, j + 1));
    }
  }
  const found: Difference[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, next] = [before[i], after[j]];
    if (old !== undefined && next !== undefined && old === next) {
      found.push(put(" ", old));
      i++;
      j++;
    } else if (old !== undefined && (next === undefined || cell(i + 1, j) >= cell(i, j + 1))) {
      found.push(put("-", old));
      i++;
    } else if (next !== undefined) {
      found.push(put("+", next));
      j++;
    }
  }
  return found;
}

const MAX_CELLS = 250_000;

/** A provider may call a member what every object inherits; only what it wrote itself is a value. */
function ownOf(object: JsonObject, name: string): Held {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

function isFilled(value: Held): value is JsonObject {
  return value !== undefined && isJsonObject(value) && Object.keys(value).length > 0;
}

function isList(value: Held): value is readonly JsonValue[] {
  return Array.isArray(value) && value.length > 0;
}

function isPlain(list: readonly JsonValue[]): boolean {
  return list.every((value) => value === null || typeof value !== "object");
}

/** Leaves alone reach this: plain values, and empty lists and objects. */
function isSame(one: JsonValue, other: JsonValue): boolean {
  return one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other));
}

function join(path: string, name: string): string {
  return path === "" ? nameOf(name) : `${path}.${nameOf(name)}`;
}

/** A name that could read as a path or as a value stands in quotes. */
export function nameOf(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? name : `"${showIdentifier(name).replaceAll('"', '\\"')}"`;
}
