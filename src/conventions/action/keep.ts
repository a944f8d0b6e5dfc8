import { canonicalJson, digestBytes } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { argumentOf } from "./gather.ts";
import { type ActionDefinition, type InputField, isByDigest, WHOLE } from "./pack.ts";
import { readStandIn } from "./spooled.ts";

/**
 * The exact arguments as cards and records have them; what the pack calls opaque or sensitive by size and digest. What the
 * definition does not name is left out, so that arguments which nobody has held against it can be shown too.
 */
export function showArguments(action: ActionDefinition, args: JsonObject): JsonObject {
  const shown: Record<string, JsonValue> = {};
  for (const field of action.inputs) {
    const value = argumentOf(field, args);
    if (value !== undefined) shown[field.name] = field.opaque ? showOpaque(field, value) : value;
  }
  return shown;
}

/**
 * The arguments with a stand-in wherever the value must not be kept, so that the command built from them is what a record
 * may hold. Parts of a multipart body are digests in the command already. The very same object where nothing is opaque.
 */
export function maskOpaque(action: ActionDefinition, args: JsonObject): JsonObject {
  const parts = action.kind !== "ssh" && isByDigest(action.body);
  const json = action.kind === "ssh" || action.body === "application/json";
  const masked: Record<string, JsonValue> = {};
  for (const field of action.inputs) {
    const value = argumentOf(field, args);
    if (value === undefined || !field.opaque || (parts && field.place === "body")) continue;
    const shown = showOpaque(field, value);
    masked[field.name] = json && (field.place === "body" || field.place === null) ? shown : inWords(shown);
  }
  return Object.keys(masked).length === 0 ? args : { ...args, ...masked };
}

/**
 * An address that a provider answered with, with the same stand-ins wherever such a value stands in its path or query, however it
 * is encoded there. Its origin stays: whoever chose the value does not choose what a person is not shown of where it goes.
 */
export function hideOpaque(action: ActionDefinition, args: JsonObject, url: string): string {
  const begins = url.indexOf("/", url.indexOf("//") + 2);
  if (begins < 0) return url;
  const [origin, rest] = [url.slice(0, begins), url.slice(begins)];
  const standIns = new Map<string, string>();
  for (const field of action.inputs) {
    const value = field.opaque ? argumentOf(field, args) : undefined;
    if (value === undefined) continue;
    // What is longer than the address is not in it.
    for (const text of textsIn(value).filter(({ length }) => length > 0 && length <= rest.length))
      if (!standIns.has(text)) standIns.set(text, inWords(showOpaque(field, value)));
  }
  // The longest first, and each place once: what stands in for one value may hold another.
  const texts = [...standIns].sort(([a], [b]) => b.length - a.length);
  if (texts.length === 0) return url;
  const nothing = `${origin}/…`;
  if (texts.reduce((sum, [text]) => sum + text.length, 0) > MOST_SPELLED) return nothing;
  const spelled = new RegExp(texts.map(([text]) => `(${[...text].map(spellingsOf).join("")})`).join("|"), "gu");
  const hidden = rest.replace(spelled, (...found) => texts[found.indexOf(found[0], 1) - 1]?.[1] ?? "");
  return hidden.length <= defaults.urlCharacters ? `${origin}${hidden}` : nothing;
}

/** Of longer values together no pattern is made: it may be larger than one can be. */
const MOST_SPELLED = 2_048;

/** As a value may stand in an address: a list also by its elements. */
function textsIn(value: JsonValue): readonly string[] {
  if (Array.isArray(value)) return [canonicalJson(value), ...value.flatMap(textsIn)];
  return [typeof value === "string" ? value : canonicalJson(value)];
}

/** One character, as escapes of its bytes or as it is. */
function spellingsOf(character: string): string {
  const escapes = Buffer.from(character, "utf8")
    .toString("hex")
    .replaceAll(/../g, (hex) => `%${anyCase(hex)}`);
  const plain = character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  return `(?:${escapes}|${plain}${character === " " ? "|\\+" : ""})`;
}

function anyCase(hex: string): string {
  return hex.replaceAll(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`);
}

/** Where an argument's name and the name on the wire differ, and what goes out as a header field. */
export function nameOnWire(action: ActionDefinition, args: JsonObject): JsonObject {
  const names: Record<string, JsonValue> = {};
  for (const field of action.inputs) {
    if (argumentOf(field, args) === undefined) continue;
    if (field.place === "header") names[field.name] = `header ${field.wireName}`;
    else if (field.wireName === WHOLE) names[field.name] = "the whole body";
    else if (field.place !== null && field.wireName !== field.name)
      names[field.name] = `${field.place} ${field.wireName}`;
  }
  return names;
}

/** A file by what will be sent, other values by their canonical text. */
function showOpaque({ sensitive, part }: InputField, value: JsonValue): JsonObject {
  const text = typeof value === "string" ? value : canonicalJson(value);
  const why = sensitive ? { sensitive: true } : { opaque: true };
  const spooled = part === "bytes" ? readStandIn(text) : null;
  if (spooled !== null) return { ...why, ...spooled };
  const bytes = Buffer.from(text, part === "file" || part === "bytes" ? "base64" : "utf8");
  return { ...why, bytes: bytes.byteLength, digest: digestBytes(bytes) };
}

/** For places that hold text alone: nothing in it needs an escape anywhere. */
function inWords({ sensitive, bytes, digest }: JsonObject): string {
  const why = sensitive === true ? "sensitive" : "opaque";
  return `${why}-${String(bytes)}-bytes-${String(digest).replace(":", "-")}`;
}
