/**
 * Looks for a lent credential in what the provider sent back, in the forms in which software echoes by accident: plain,
 * UTF-16, hex, percent-encoded (in whole or in part, once or twice), base64 and base64url at any alignment, each also inside
 * JSON strings and in a body that came packed with gzip.
 * Against a provider that hides the credential on purpose it promises nothing.
 */
import { gunzipSync } from "node:zlib";
import { defaults } from "../../kernel/defaults.ts";
import type { Secret } from "../../kernel/secret.ts";
import { type EchoForm, holdsSpace, type Pattern, patternsOf } from "./echo-patterns.ts";
import { type Search, type StreamScreen, screenStream } from "./echo-stream.ts";
import { type EchoCoding, type View, viewsOf } from "./echo-views.ts";

/** Where it was seen: the body, or the header field of that name. `through` lists the decodings that showed it. */
export interface Echo {
  readonly where: "body" | `header ${string}`;
  readonly form: EchoForm;
  readonly through: readonly EchoCoding[];
}

export interface ResponseContent {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export type Screened =
  | { readonly kind: "clean" }
  | { readonly kind: "withheld"; readonly echo: Echo; readonly content: ResponseContent }
  | { readonly kind: "redacted"; readonly echo: Echo; readonly content: ResponseContent };

/** What stands where the credential stood. */
export const REDACTED = "[credential]";

/** A body with more occurrences than this is withheld whole: nothing in it is worth the work of keeping. */
const REDACTIONS = 10_000;

export interface Screen {
  (content: ResponseContent, mode: "withhold" | "redact"): Screened;
  /** For one body that is passed on while it comes. */
  stream(): StreamScreen;
}

/**
 * Reads the secrets once, so that the answer can still be screened when they are wiped while the call is under way.
 * `withhold` answers with an empty body and only the header fields that are clean; `redact` puts `[credential]` in
 * place of each occurrence, and withholds all the same when anything is still found afterwards.
 */
export function prepareScreen(secrets: readonly Secret[]): Screen {
  const search: Search = { ...patternsOf(secrets), plusIsSpace: holdsSpace(secrets) };
  const screen = (content: ResponseContent, mode: "withhold" | "redact"): Screened => {
    const echo = findIn(search, content);
    if (echo === null) return { kind: "clean" };
    const redacted = mode === "redact" ? redactContent(search, content) : null;
    if (redacted !== null && findIn(search, redacted) === null) return { kind: "redacted", echo, content: redacted };
    const clean = Object.entries(content.headers).filter(([, value]) => findText(search, latin1(value)) === null);
    return { kind: "withheld", echo, content: { headers: Object.fromEntries(clean), body: Buffer.alloc(0) } };
  };
  return Object.assign(screen, { stream: () => screenStream(search, (text) => findText(search, text) !== null) });
}

function findIn(search: Search, content: ResponseContent): Echo | null {
  if (search.telling.length === 0 || isPlainlyClean(search, content)) return null;
  const values = Object.values(content.headers);
  // One pass over all fields; only a hit looks for the field.
  if (findText(search, latin1(values.join("\n"))) !== null) {
    for (const [name, value] of Object.entries(content.headers)) {
      const found = findText(search, latin1(value));
      if (found !== null) return { where: `header ${name}`, ...found };
    }
  }
  const found = findText(search, content.body) ?? findPacked(search, content.body);
  return found === null ? null : { where: "body", ...found };
}

/** A body that is gzip although nobody asked for it: looked at as it would be unpacked; one that is too large counts as a find. */
function findPacked(search: Search, body: Buffer): Omit<Echo, "where"> | null {
  if (!isPacked(body)) return null;
  try {
    const found = findText(search, gunzipSync(body, { maxOutputLength: defaults.responseBytes }));
    return found === null ? null : { ...found, through: ["gzip", ...found.through] };
  } catch (error) {
    const tooLarge = error instanceof RangeError;
    return tooLarge ? { form: "plain", through: ["gzip"] } : null;
  }
}

/** Most answers are small and hold no escape: one string search a pattern settles those. Says nothing about the others. */
function isPlainlyClean(search: Search, { headers, body }: ResponseContent): boolean {
  if (body.byteLength > SMALL_BODY_BYTES || isPacked(body)) return false;
  let text = body.toString("latin1");
  for (const name in headers) text += `\n${headers[name]}`;
  if (text.includes("%") || text.includes("\\") || (search.plusIsSpace && text.includes("+"))) return false;
  return !search.telling.some(({ needle }) => text.includes(needle));
}

function isPacked(body: Buffer): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

const SMALL_BODY_BYTES = 65_536;

function findText(search: Search, text: Buffer): Omit<Echo, "where"> | null {
  for (const view of viewsOf(text, search.plusIsSpace, false)) {
    for (const { needle, form, escapable } of search.telling) {
      if (!escapable && view.through.length > 1) continue;
      if (find(view.bytes, needle, 0) >= 0) return { form, through: view.through };
    }
  }
  return null;
}

function redactContent(search: Search, content: ResponseContent): ResponseContent | null {
  const body = redactText(search, content.body);
  if (body === null) return null;
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(content.headers)) {
    const redacted = redactText(search, latin1(value));
    if (redacted === null) return null;
    headers[name] = redacted.toString("latin1");
  }
  return { headers, body };
}

type Range = readonly [start: number, end: number];

function redactText(search: Search, raw: Buffer): Buffer | null {
  const ranges: Range[] = [];
  for (const view of viewsOf(raw, search.plusIsSpace, true)) {
    for (const pattern of search.all) {
      if (!pattern.escapable && view.through.length > 1) continue;
      if (!collect(view, pattern, ranges)) return null;
    }
  }
  if (ranges.length === 0) return raw;
  ranges.sort((a, b) => a[0] - b[0]);
  const parts: Buffer[] = [];
  let kept = 0;
  for (const [start, end] of ranges) {
    // A range that touches the one before it belongs to the same mark.
    if (start > kept || parts.length === 0) parts.push(raw.subarray(kept, start), Buffer.from(REDACTED, "latin1"));
    kept = Math.max(kept, end);
  }
  parts.push(raw.subarray(kept));
  return Buffer.concat(parts);
}

function collect(view: View, pattern: Pattern, ranges: Range[]): boolean {
  const { bytes, trace } = view;
  const { needle } = pattern;
  // From the next byte on: an occurrence may begin within the one before it.
  for (let at = find(bytes, needle, 0); at >= 0; at = find(bytes, needle, at + 1)) {
    let from = at;
    let to = at + needle.length;
    if (pattern.form === "base64" || pattern.form === "base64url") {
      // The edge characters share bits with the neighbours: they go too.
      if (isBase64(bytes[from - 1])) from--;
      if (isBase64(bytes[to])) to++;
    }
    ranges.push(trace === null ? [from, to] : [trace.starts[from] ?? 0, trace.ends[to - 1] ?? 0]);
    if (ranges.length > REDACTIONS) return false;
  }
  return true;
}

function find(bytes: Buffer, needle: string, from: number): number {
  return bytes.indexOf(needle, from, "latin1");
}

function isBase64(byte: number | undefined): boolean {
  return byte !== undefined && BASE64.includes(byte);
}

const BASE64 = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_", "latin1");

function latin1(text: string): Buffer {
  return Buffer.from(text, "latin1");
}
