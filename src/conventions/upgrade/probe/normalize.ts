import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { readJson } from "../document/read-json.ts";
import { type Steering, steeringOf } from "../meaning/steering.ts";
import { splitWords } from "../meaning/words.ts";
import type { SchemaShape } from "../model/shape.ts";
import { basePathOf, type ProbeExchange, type ProbeVersion } from "./exchange.ts";

/** What is compared of one exchange: sorted texts by what they are. Times, request ids and tokens are not in it. */
export interface Facts {
  readonly outcome: string;
  readonly status: number | null;
  readonly lists: Readonly<Record<FactName, readonly string[]>>;
  /** Names of account values that the answer holds: a forbidden one here is a crossed boundary. */
  readonly named: readonly string[];
}

export const factNames = ["headers", "links", "identifiers", "roles", "steering", "errors", "fields"] as const;
export type FactName = (typeof factNames)[number];

const LIMITS = { bytes: 8_388_608, depth: 64, nodes: 200_000 };
const TIME = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const HTTP_TIME = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4}/;
const REQUEST_WORDS = new Set(["request_id", "correlation_id", "trace_id", "x_request_id", "span_id"]);
const TIME_ENDS = new Set(["at", "time", "date", "timestamp", "ts", "expires", "expiry", "since", "until"]);
const NO_SHAPE: Pick<SchemaShape, "types" | "format"> = { types: [], format: null };

/** Gives identifiers names by first appearance in an answer, so that two runs that made different records still compare. */
export interface Names {
  nameOf(value: string): string;
}

export function createNames(known: ReadonlyMap<string, string>): Names {
  const given = new Map([...known].map(([name, value]) => [value, `<${name}>`]));
  let count = 0;
  return {
    nameOf(value) {
      const name = given.get(value) ?? `<id ${++count}>`;
      given.set(value, name);
      return name;
    },
  };
}

export function normalizeExchange(
  exchange: ProbeExchange,
  version: ProbeVersion,
  account: ReadonlyMap<string, string>,
  names: Names,
): Facts {
  const lists: Record<FactName, string[]> = {
    headers: [],
    links: [],
    identifiers: [],
    roles: [],
    steering: [],
    errors: [],
    fields: [],
  };
  if (exchange.kind !== "answered") {
    return { outcome: `${exchange.kind}: ${exchange.reason}`, status: null, lists, named: [] };
  }
  readHeaders(exchange.headers, version, names, lists);
  const named = new Set<string>();
  const byValue = new Map([...account].map(([name, value]) => [value, name]));
  const body = parseBody(exchange.body);
  if (body !== undefined) walk(body, "", "", {}, { lists, names, version, byValue, named });
  else findNamed(Buffer.from(exchange.body).toString("utf8"), byValue, named);
  // What was cut to a length may end in half a character, and a digest has no form for that.
  for (const name of factNames) lists[name] = [...new Set(lists[name].map((text) => text.toWellFormed()))].sort();
  return { outcome: `status ${exchange.status}`, status: exchange.status, lists, named: [...named].sort() };
}

export function parseBody(bytes: Uint8Array): JsonValue | undefined {
  if (bytes.byteLength === 0 || bytes.byteLength > LIMITS.bytes) return undefined;
  try {
    return readJson(new TextDecoder("utf-8", { fatal: true }).decode(bytes), LIMITS, () => {}, "text");
  } catch {
    return undefined;
  }
}

function readHeaders(
  headers: Readonly<Record<string, string>>,
  version: ProbeVersion,
  names: Names,
  lists: Record<FactName, string[]>,
): void {
  lists.headers.push(`x-request-id ${headers["x-request-id"] === undefined ? "absent" : "present"}`);
  const location = headers["location"];
  if (location !== undefined) lists.links.push(`location ${normalizeUrl(location, version, names)}`);
  for (const { rel, url } of readLinkHeader(headers["link"] ?? ""))
    lists.links.push(`link ${rel} ${normalizeUrl(url, version, names)}`);
  const challenge = headers["www-authenticate"];
  if (challenge !== undefined) lists.headers.push(`www-authenticate ${challenge.slice(0, 400)}`);
}

interface Walk {
  readonly lists: Record<FactName, string[]>;
  readonly names: Names;
  readonly version: ProbeVersion;
  readonly byValue: ReadonlyMap<string, string>;
  readonly named: Set<string>;
}

/** `around` is the object that the value stands in, however many lists lie between. */
function walk(value: JsonValue, path: string, name: string, around: JsonObject, into: Walk): void {
  if (Array.isArray(value)) {
    for (const item of value) walk(item, `${path}[]`, name, around, into);
    return;
  }
  if (isJsonObject(value)) {
    for (const [member, held] of Object.entries(value)) {
      findNamed(member, into.byValue, into.named);
      walk(held, path === "" ? member : `${path}.${member}`, member, value, into);
    }
    return;
  }
  into.lists.fields.push(path);
  if (typeof value !== "string" && typeof value !== "number") return;
  const text = String(value);
  const known = into.byValue.get(text);
  if (known !== undefined) into.named.add(known);
  else if (!TIME.test(text)) findNamed(text, into.byValue, into.named);
  note(text, path, name, around, into);
}

/** A role means something in its scope alone: what stands beside it and is called one is its place too. */
function placeOf(path: string, around: JsonObject, { names, version }: Walk): string {
  const scopes = Object.entries(around).flatMap(([name, value]) => {
    if (typeof value !== "string" || !splitWords(name).includes("scope")) return [];
    const kind = kindOf(name, value);
    if (kind === "identifier") return [`${name} ${names.nameOf(value)}`];
    return [`${name} ${kind === "url" ? normalizeUrl(value, version, names) : value.slice(0, 200)}`];
  });
  return [path, ...scopes].join(" in ");
}

/** Also within a path, a sentence or a row of a table: there a value stands by itself, and a short one may be anything. */
function findNamed(text: string, byValue: ReadonlyMap<string, string>, named: Set<string>): void {
  for (const [value, name] of byValue) {
    if (value.length < NAMED_CHARACTERS || named.has(name)) continue;
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
      if (WORD.test(text.charAt(at - 1)) || WORD.test(text.charAt(at + value.length))) continue;
      named.add(name);
      break;
    }
  }
}

const NAMED_CHARACTERS = 5;
const WORD = /[A-Za-z0-9_-]/;

function note(text: string, path: string, name: string, around: JsonObject, into: Walk): void {
  const words = splitWords(name);
  if (isVolatile(text, words)) return;
  const kind = kindOf(name, text);
  switch (kind) {
    case "token":
      into.lists.steering.push(`${path} <token>`);
      return;
    case "url":
      into.lists.links.push(`${path} ${normalizeUrl(text, into.version, into.names)}`);
      return;
    case "cursor":
      into.lists.links.push(`${path} <cursor>`);
      return;
    case "role":
      into.lists.roles.push(`${placeOf(path, around, into)} ${text.slice(0, 200)}`);
      return;
    case "identifier":
      into.lists.identifiers.push(`${path} ${into.names.nameOf(text)}`);
      return;
    case "none":
      if (["error", "code", "error_code", "type"].includes(words.join("_")) && !path.includes("[]"))
        into.lists.errors.push(`${path} ${text.slice(0, 200)}`);
  }
}

function kindOf(name: string, text: string): Steering {
  const shape = { ...NO_SHAPE, types: ["string"], format: /^https?:\/\//i.test(text) ? "uri" : null };
  return steeringOf(name, shape);
}

function isVolatile(text: string, words: readonly string[]): boolean {
  return (
    TIME.test(text) || HTTP_TIME.test(text) || REQUEST_WORDS.has(words.join("_")) || TIME_ENDS.has(words.at(-1) ?? "")
  );
}

/** The version's own base is written `<base>`; any other origin stays visible, because a link there leads away. */
export function normalizeUrl(text: string, version: ProbeVersion, names: Names): string {
  let url: URL;
  try {
    url = new URL(text, `${version.base.replace(/\/$/, "")}/`);
  } catch {
    return "not a URL";
  }
  const base = basePathOf(version);
  // With the slash: `/v20` is not below `/v2`.
  const inside = url.origin === new URL(version.base).origin && `${url.pathname}/`.startsWith(`${base}/`);
  const path = inside ? url.pathname.slice(base.length) : url.pathname;
  const segments = path.split("/").map((segment) => (looksOpaque(segment) ? names.nameOf(decode(segment)) : segment));
  const query = [...url.searchParams]
    .sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0))
    .map(([key, value]) => `${key}=${normalizeQueryValue(key, value, version, names)}`);
  return `${inside ? "<base>" : url.origin}${segments.join("/")}${query.length === 0 ? "" : `?${query.join("&")}`}`;
}

/** Whose or what a link asks for is compared like any identifier; only times, tokens and cursors are taken out. */
function normalizeQueryValue(key: string, value: string, version: ProbeVersion, names: Names): string {
  if (isVolatile(value, splitWords(key))) return "…";
  switch (steeringOf(key, NO_SHAPE)) {
    case "token":
    case "cursor":
      return "…";
    case "identifier":
      return names.nameOf(value);
    case "url":
      return normalizeUrl(value, version, names);
    case "role":
    case "none":
      return value.slice(0, 60);
  }
}

function looksOpaque(segment: string): boolean {
  return /\d/.test(segment) && segment.length >= 6 && !/^v\d/.test(segment);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `<url>; rel="next"`, several with commas. Anything else in the field is passed over. */
export function readLinkHeader(field: string): readonly { readonly rel: string; readonly url: string }[] {
  return field
    .slice(0, 8_192)
    .split(/,(?=\s*<)/)
    .flatMap((part) => {
      const open = part.indexOf("<");
      const close = part.indexOf(">", open);
      const rel = /;\s*rel="?([^";]+)"?/i.exec(part.slice(close))?.[1];
      return open < 0 || close < 0 || rel === undefined ? [] : [{ rel: rel.trim(), url: part.slice(open + 1, close) }];
    });
}
