/** Which decoding showed the bytes. `form` is percent decoding in which a plus sign is a space. */
export type EchoCoding = "raw" | "percent" | "form" | "json" | "gzip";

/** The text as a reader would see it after decoding. `start` and `end` lead back to the raw bytes, when traced. */
export interface View {
  readonly through: readonly EchoCoding[];
  readonly bytes: Buffer;
  readonly trace: Trace | null;
}

/** For each decoded byte, the raw range it came from. */
export interface Trace {
  readonly starts: Uint32Array;
  readonly ends: Uint32Array;
}

/** JSON inside a JSON string is common (a logged request), deeper nesting is not accidental. */
const JSON_LEVELS = 2;

/** Every way of reading `raw` that is looked at. Each is one pass, and made only where the text has such an escape. */
export function* viewsOf(raw: Buffer, plusIsSpace: boolean, traced: boolean): Generator<View> {
  let level: View = { through: ["raw"], bytes: raw, trace: null };
  yield level;
  yield* percentViews(level, plusIsSpace, traced);
  for (let depth = 0; depth < JSON_LEVELS; depth++) {
    const decoded = decode(level, BACKSLASH, "json", readJsonEscape, traced);
    if (decoded === null) return;
    level = decoded;
    yield level;
    yield* percentViews(level, plusIsSpace, traced);
  }
}

function* percentViews(view: View, plusIsSpace: boolean, traced: boolean): Generator<View> {
  const percent = decode(view, PERCENT, "percent", readPercentEscape, traced);
  if (percent !== null) {
    yield percent;
    // A value that was encoded twice, as when one URL stands in the query of another.
    const twice = decode(percent, PERCENT, "percent", readPercentEscape, traced);
    if (twice !== null) yield twice;
  }
  if (!plusIsSpace || !view.bytes.includes(PLUS)) return;
  // Plus signs first: one that was percent-encoded is meant literally.
  const spaced = Buffer.from(view.bytes);
  for (let at = spaced.indexOf(PLUS); at >= 0; at = spaced.indexOf(PLUS, at + 1)) spaced[at] = 0x20;
  const form: View = { ...view, through: [...view.through, "form"], bytes: spaced };
  yield decode(form, PERCENT, "percent", readPercentEscape, traced) ?? form;
}

/** Reads one escape at `at`: how many bytes it takes and which it means; length 0 when it is none. */
type ReadEscape = (bytes: Buffer, at: number, found: Escape) => void;

interface Escape {
  length: number;
  /** A Unicode scalar value for JSON, a byte for percent. */
  value: number;
}

function decode(view: View, mark: number, coding: EchoCoding, read: ReadEscape, traced: boolean): View | null {
  const { bytes } = view;
  const end = bytes.byteLength;
  let at = bytes.indexOf(mark);
  if (at < 0) return null;
  const out = Buffer.allocUnsafe(end);
  bytes.copy(out, 0, 0, at);
  const trace = traced ? { starts: new Uint32Array(end), ends: new Uint32Array(end) } : null;
  if (trace !== null) noteRun(trace, 0, view.trace, 0, at);
  const found: Escape = { length: 0, value: 0 };
  let size = at;
  while (at < end) {
    const from = at;
    const before = size;
    found.length = 0;
    read(bytes, at, found);
    if (found.length === 0) out[size++] = mark;
    else if (coding === "json" && found.value >= 0x80) size = writeScalar(out, size, found.value);
    else out[size++] = found.value;
    at += found.length || 1;
    if (trace !== null) noteEscape(trace, before, size, view.trace, from, at);
    const runFrom = at;
    const runSize = size;
    // Byte by byte, because a native search for every escape is slower where escapes are dense.
    for (; at < end; at++) {
      const byte = bytes[at] ?? 0;
      if (byte === mark) break;
      out[size++] = byte;
    }
    if (trace !== null) noteRun(trace, runSize, view.trace, runFrom, at);
  }
  return { through: [...view.through, coding], bytes: out.subarray(0, size), trace };
}

/** Traces compose with the one of the view below, so that every trace leads all the way back to the raw bytes. */
function noteRun(trace: Trace, made: number, below: Trace | null, from: number, to: number): void {
  for (let at = from; at < to; at++) noteEscape(trace, made + at - from, made + at - from + 1, below, at, at + 1);
}

function noteEscape(trace: Trace, made: number, madeEnd: number, below: Trace | null, from: number, to: number): void {
  for (let at = made; at < madeEnd; at++) {
    trace.starts[at] = below === null ? from : (below.starts[from] ?? 0);
    trace.ends[at] = below === null ? to : (below.ends[to - 1] ?? 0);
  }
}

const BACKSLASH = 0x5c;
const PERCENT = 0x25;
const PLUS = 0x2b;

function readPercentEscape(bytes: Buffer, at: number, found: Escape): void {
  const value = hexDigits(bytes, at + 1, 2);
  if (value < 0) return;
  found.length = 3;
  found.value = value;
}

function readJsonEscape(bytes: Buffer, at: number, found: Escape): void {
  const kind = bytes[at + 1] ?? 0;
  if (kind !== LOWER_U) {
    const value = SHORT_ESCAPES[kind] ?? 0;
    if (value === 0) return;
    found.length = 2;
    found.value = value;
    return;
  }
  const unit = hexDigits(bytes, at + 2, 4);
  if (unit < 0) return;
  found.length = 6;
  found.value = unit;
  if (unit < 0xd800 || unit > 0xdbff || bytes[at + 6] !== BACKSLASH || bytes[at + 7] !== LOWER_U) return;
  const low = hexDigits(bytes, at + 8, 4);
  if (low < 0xdc00 || low > 0xdfff) return;
  found.length = 12;
  found.value = 0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00);
}

const LOWER_U = 0x75;
const SHORT_ESCAPES = new Uint8Array(256);
for (const [letter, meant] of Object.entries({
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
})) {
  SHORT_ESCAPES[letter.charCodeAt(0)] = meant.charCodeAt(0);
}

const HEX_DIGIT = new Int8Array(256).fill(-1);
for (let digit = 0; digit < 16; digit++) {
  HEX_DIGIT[digit.toString(16).charCodeAt(0)] = digit;
  HEX_DIGIT[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}

function hexDigits(bytes: Buffer, at: number, count: number): number {
  if (at + count > bytes.byteLength) return -1;
  let value = 0;
  for (let index = at; index < at + count; index++) {
    const digit = HEX_DIGIT[bytes[index] ?? 0] ?? -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

/** UTF-8. A lone surrogate is written in the same three-byte pattern: no secret is lost by it. */
function writeScalar(out: Buffer, at: number, value: number): number {
  let size = at;
  if (value < 0x800) out[size++] = 0xc0 | (value >> 6);
  else {
    if (value < 0x10000) out[size++] = 0xe0 | (value >> 12);
    else {
      out[size++] = 0xf0 | (value >> 18);
      out[size++] = 0x80 | ((value >> 12) & 0x3f);
    }
    out[size++] = 0x80 | ((value >> 6) & 0x3f);
  }
  out[size++] = 0x80 | (value & 0x3f);
  return size;
}
