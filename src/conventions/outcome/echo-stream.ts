import type { Patterns } from "./echo-patterns.ts";
import { type View, viewsOf } from "./echo-views.ts";

export interface Search extends Patterns {
  readonly plusIsSpace: boolean;
}

/**
 * Looks for a lent credential in a body that is passed on while it comes, in the forms that `echo.ts` knows, gzip apart. What
 * may be the beginning of one is held back until more has come, so that no part of it leaves before the whole is seen.
 */
export interface StreamScreen {
  /** The most of what was passed on that is read once more with each piece; 0 where nothing is looked for. */
  readonly looksBack: number;
  /** What may be passed on by now; null from where the credential was seen: nothing more may. */
  take(chunk: Buffer): Buffer | null;
  /** At the end: what was held back for what might have followed. */
  rest(): Buffer;
}

/** The most that one byte of a pattern takes in a text: percent-encoded twice, as \u escapes of a JSON string inside another. */
const WIDEST = 40;
/** An escape that began before the window must not look like none. */
const ESCAPE_BYTES = 64;

export function screenStream(search: Search, holds: (text: Buffer) => boolean): StreamScreen {
  const widths = search.all.map(({ needle, escapable }) => needle.length * (escapable ? WIDEST : 1));
  const window = Math.max(0, ...widths) + ESCAPE_BYTES;
  let passed: Buffer = NOTHING;
  let held: Buffer = NOTHING;
  let seen = false;
  return {
    looksBack: search.all.length === 0 ? 0 : window,
    take(chunk) {
      if (seen) return null;
      if (search.all.length === 0) return chunk;
      const text = Buffer.concat([passed, held, chunk]);
      seen = holds(text);
      if (seen) return null;
      const from = Math.max(0, text.byteLength - window);
      const cut = Math.max(passed.byteLength, from + beginningIn(search, text.subarray(from)));
      const out = text.subarray(passed.byteLength, cut);
      held = text.subarray(cut);
      passed = text.subarray(Math.max(0, cut - window), cut);
      return out;
    },
    rest: () => (seen ? NOTHING : held),
  };
}

const NOTHING = Buffer.alloc(0);

/** Where the last bytes may begin a pattern, or an escape that is not whole; the length of the text where they do not. */
function beginningIn({ all, plusIsSpace }: Search, text: Buffer): number {
  let first = text.byteLength;
  for (const view of viewsOf(text, plusIsSpace, true)) {
    // What an escape would mean that is not whole yet is not known: a pattern may begin or go on with it.
    const known = unfinishedIn(view.bytes);
    for (const { needle, escapable } of all) {
      if (!escapable && view.through.length > 1) continue;
      first = Math.min(first, rawAt(view, prefixAtEnd(view.bytes.subarray(0, known), needle), text));
    }
  }
  return first;
}

function rawAt({ bytes, trace }: View, at: number, text: Buffer): number {
  if (at >= bytes.byteLength) return text.byteLength;
  return trace === null ? at : (trace.starts[at] ?? 0);
}

/** Where the longest end of `bytes` begins that is a beginning of `needle`. */
function prefixAtEnd(bytes: Buffer, needle: string): number {
  const end = bytes.byteLength;
  const initial = needle.charCodeAt(0);
  let at = bytes.indexOf(initial, Math.max(0, end - needle.length + 1));
  while (at >= 0) {
    if (needle.startsWith(bytes.toString("latin1", at, end))) return at;
    at = bytes.indexOf(initial, at + 1);
  }
  return end;
}

/** One escape may be written in others, so that an unfinished one may stand before an unfinished one. */
function unfinishedIn(bytes: Buffer): number {
  let end = bytes.byteLength;
  for (let level = 0; level < LEVELS; level++) end = unfinishedBefore(bytes, end);
  return end;
}

const LEVELS = 4;

/** Where an escape begins that what follows would end: `%`, `%4`, `\`, `\u00`, or the first half of a surrogate pair. */
function unfinishedBefore(bytes: Buffer, end: number): number {
  for (let at = Math.max(0, end - LONGEST_UNFINISHED); at < end; at++) {
    if (bytes[at] !== 0x25 && bytes[at] !== 0x5c) continue;
    if (UNFINISHED.test(bytes.toString("latin1", at, end))) return at;
  }
  return end;
}

/** Held against eleven bytes at most. */
const UNFINISHED = /^(?:%[0-9a-f]?|\\(?:u(?:[0-9a-f]{0,3}|d[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?)?)?)$/i;
const LONGEST_UNFINISHED = 11;
