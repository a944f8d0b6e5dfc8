import { Secret } from "../../../../kernel/secret.ts";
import type { CredentialKind } from "../../../../vault/vault.ts";

/** A secret that was found in a file, and what it would become. Its value is never shown. */
export interface FoundSecret {
  readonly label: string;
  readonly kind: CredentialKind;
  readonly secret: Secret;
  /** Where it may be sent; null where nothing says so and the person has to. */
  readonly origin: string | null;
  /** The lines of the file that hold it, from 0; null where one of them holds something else too. */
  readonly lines: readonly number[] | null;
}

const NEW_LINE = 0x0a;
const NOTE = 0x23;

/** Where well-known tokens belong. Whatever is not here is asked for: a guess would send a secret somewhere. */
const KNOWN: Readonly<Record<string, string>> = {
  GITHUB_TOKEN: "https://api.github.com",
  GH_TOKEN: "https://api.github.com",
  GITLAB_TOKEN: "https://gitlab.com",
  OPENAI_API_KEY: "https://api.openai.com",
  STRIPE_API_KEY: "https://api.stripe.com",
  STRIPE_SECRET_KEY: "https://api.stripe.com",
  SLACK_BOT_TOKEN: "https://slack.com",
};

/** `NAME=value` or `export NAME="value"`, one a line. What goes on over several lines is left, and none of it is taken for a name. */
export function findInEnv(bytes: Buffer): readonly FoundSecret[] {
  let within = -1;
  return linesOf(bytes).flatMap((line, at, all) => {
    if (at <= within) return [];
    const equals = line.indexOf("=");
    const name = line
      .subarray(0, Math.max(0, equals))
      .toString("latin1")
      .trim()
      .replace(/^export\s+/, "");
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) return [];
    const quote = openQuote(line.subarray(equals + 1));
    if (quote !== null) within = all.findIndex((one, index) => index > at && trimmed(one).at(-1) === quote);
    const secret = unquoted(line.subarray(equals + 1));
    return secret === null ? [] : [{ ...bearer(labelOf(name), secret, KNOWN[name] ?? null), lines: [at] }];
  });
}

/** `//HOST/:_authToken=value`, as npm writes it. */
export function findInNpmrc(bytes: Buffer): readonly FoundSecret[] {
  return linesOf(bytes).flatMap((line, at) => {
    const equals = line.indexOf("=");
    const name = line.subarray(0, Math.max(0, equals)).toString("latin1").trim();
    const host = /^\/\/([a-z0-9.-]{1,253}(?::\d{1,5})?)\/[^:]{0,200}:_authToken$/i.exec(name)?.[1];
    const secret = host === undefined ? null : unquoted(line.subarray(equals + 1));
    if (host === undefined || secret === null) return [];
    return [{ ...bearer(labelOf(`npm-${host}`), secret, `https://${host.toLowerCase()}`), lines: [at] }];
  });
}

/** `machine HOST login NAME password VALUE`, over as many lines as it takes. */
export function findInNetrc(bytes: Buffer): readonly FoundSecret[] {
  const words = wordsOf(bytes);
  const found: FoundSecret[] = [];
  for (const [at, word] of words.entries()) {
    if (!is(word, "machine")) continue;
    const entry = words.slice(at + 1).findIndex((one) => is(one, "machine") || is(one, "default"));
    const own = words.slice(at + 1, entry < 0 ? words.length : at + 1 + entry);
    const after = (name: string) => {
      const found = own.findIndex((one, index) => index > 0 && is(one, name));
      return found < 0 ? undefined : own[found + 1];
    };
    const [host] = own;
    const [login, password] = [after("login"), after("password")];
    const name = host?.bytes.toString("latin1").toLowerCase() ?? "";
    if (login === undefined || password === undefined || !/^[a-z0-9.-]{1,253}$/.test(name)) continue;
    const secret = Secret.take(Buffer.concat([login.bytes, Buffer.from(":"), password.bytes]));
    const entire = new Set([word, ...own]);
    const numbers = new Set([...entire].map(({ line }) => line));
    const shared = words.some((one) => numbers.has(one.line) && !entire.has(one));
    const lines = shared ? null : [...numbers];
    found.push({ label: labelOf(name), kind: "basic", secret, origin: `https://${name}`, lines });
  }
  return found;
}

/** The file without what was taken out of it. */
export function withoutLines(bytes: Buffer, gone: ReadonlySet<number>): Buffer {
  return Buffer.concat(linesOf(bytes, true).filter((_line, at) => !gone.has(at)));
}

export function labelOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 60);
}

function bearer(label: string, secret: Secret, origin: string | null) {
  return { label, kind: "bearer", secret, origin } as const;
}

function linesOf(bytes: Buffer, whole = false): readonly Buffer[] {
  const lines: Buffer[] = [];
  for (let start = 0; start < bytes.length; ) {
    const end = bytes.indexOf(NEW_LINE, start);
    const next = end < 0 ? bytes.length : end + 1;
    lines.push(bytes.subarray(start, whole || end < 0 ? next : end));
    start = next;
  }
  return lines;
}

interface Word {
  readonly bytes: Buffer;
  readonly line: number;
}

function wordsOf(bytes: Buffer): readonly Word[] {
  return linesOf(bytes).flatMap((line, number) => {
    const words: Word[] = [];
    // A note of a person's: none of its words is the file's.
    if (line.find((byte) => byte > 0x20) === NOTE) return words;
    for (let start = -1, at = 0; at <= line.length; at++) {
      const blank = at === line.length || (line[at] ?? 0) <= 0x20;
      if (blank && start >= 0) words.push({ bytes: line.subarray(start, at), line: number });
      if (blank) start = -1;
      else if (start < 0) start = at;
    }
    return words;
  });
}

function is({ bytes }: Word, word: string): boolean {
  return bytes.equals(Buffer.from(word));
}

/** Null where there is no value, not all of it, or one that another program fills in (`${NAME}`). */
function unquoted(value: Buffer): Secret | null {
  const given = trimmed(value);
  const quoted = isQuote(given[0]);
  if (quoted && (given.length < 2 || given.at(-1) !== given[0])) return null;
  const bytes = quoted ? given.subarray(1, -1) : given;
  return bytes.length === 0 || bytes[0] === 0x24 ? null : Secret.take(Buffer.from(bytes));
}

/** The quote that a value begins with and that does not come again: it goes on in the next line. */
function openQuote(value: Buffer): number | null {
  const bytes = trimmed(value);
  const [quote] = bytes;
  return quote !== undefined && isQuote(quote) && bytes.indexOf(quote, 1) < 0 ? quote : null;
}

function isQuote(byte: number | undefined): boolean {
  return byte === 0x22 || byte === 0x27;
}

function trimmed(value: Buffer): Buffer {
  let [start, end] = [0, value.length];
  while (start < end && (value[start] ?? 0) <= 0x20) start++;
  while (end > start && (value[end - 1] ?? 0) <= 0x20) end--;
  return value.subarray(start, end);
}
