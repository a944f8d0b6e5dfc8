/**
 * Bytes of a terminal in raw mode become keys. What is pasted (between the marks of bracketed paste) is never keys;
 * sequences that mean nothing here, Alt with a letter among them, are dropped whole and leave no letters behind.
 */
export type Key =
  | { readonly kind: "text"; readonly point: string }
  | { readonly kind: NamedKey }
  | { readonly kind: "paste"; readonly bytes: Buffer };

/** A key as the model takes it: what was pasted is text by then, or nothing. */
export type WatchKey =
  | { readonly kind: "text"; readonly point: string }
  | { readonly kind: NamedKey }
  | { readonly kind: "paste"; readonly text: string };

export type NamedKey =
  | "enter"
  | "escape"
  | "backspace"
  | "kill"
  | "redraw"
  | "interrupt"
  | "up"
  | "down"
  | "left"
  | "right"
  | "pageUp"
  | "pageDown";

export interface KeyDecoder {
  feed(bytes: Uint8Array): readonly Key[];
  /** The line has been quiet: an escape that nothing followed was the key itself, half a sequence was noise. */
  flush(): readonly Key[];
  /** Whether a flush would change anything. */
  readonly waiting: boolean;
}

type Mode = "ground" | "escape" | "csi" | "ss3" | "string" | "stringEscape" | "utf8" | "paste";

const MAX_PASTE_BYTES = 16_384;
const MAX_PARAMETERS = 16;
const PASTE_END = Buffer.from("\u001b[201~");
const ESCAPE = 0x1b;

const control: Readonly<Record<number, NamedKey>> = {
  3: "interrupt",
  8: "backspace",
  10: "enter",
  12: "redraw",
  13: "enter",
  21: "kill",
  127: "backspace",
};
const finals: Readonly<Record<string, NamedKey>> = { A: "up", B: "down", C: "right", D: "left" };
const numbered: Readonly<Record<string, NamedKey>> = { "5": "pageUp", "6": "pageDown" };

export function createKeyDecoder(): KeyDecoder {
  let mode: Mode = "ground";
  let parameters = "";
  let point: number[] = [];
  let pointLength = 0;
  let pasted: number[] = [];
  let matched = 0;

  const takers: Readonly<Record<Mode, (byte: number, keys: Key[]) => void>> = {
    ground,
    escape: afterEscape,
    csi,
    ss3(byte, keys) {
      mode = "ground";
      named(finals[String.fromCharCode(byte)], keys);
    },
    string(byte) {
      if (byte === 0x07) mode = "ground";
      else if (byte === ESCAPE) mode = "stringEscape";
    },
    stringEscape(byte) {
      mode = byte === 0x5c ? "ground" : "string";
    },
    utf8,
    paste,
  };

  function ground(byte: number, keys: Key[]): void {
    if (byte === ESCAPE) mode = "escape";
    else if (byte < 0x20 || byte === 0x7f) named(control[byte], keys);
    else if (byte < 0x80) keys.push({ kind: "text", point: String.fromCharCode(byte) });
    else if (byte >= 0xc2 && byte <= 0xf4) {
      mode = "utf8";
      point = [byte];
      pointLength = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
    }
  }

  function afterEscape(byte: number): void {
    parameters = "";
    if (byte === 0x5b) mode = "csi";
    else if (byte === 0x4f) mode = "ss3";
    else if ([0x50, 0x58, 0x5d, 0x5e, 0x5f].includes(byte)) mode = "string";
    else mode = byte === ESCAPE ? "escape" : "ground";
  }

  function csi(byte: number, keys: Key[]): void {
    if (byte < 0x40 || byte > 0x7e) {
      if (byte === ESCAPE) mode = "escape";
      else if (parameters.length < MAX_PARAMETERS) parameters += String.fromCharCode(byte);
      return;
    }
    mode = "ground";
    const final = String.fromCharCode(byte);
    if (final === "~" && parameters === "200") {
      mode = "paste";
      pasted = [];
      matched = 0;
    } else if (final === "~") named(numbered[parameters], keys);
    else if (parameters === "") named(finals[final], keys);
  }

  function utf8(byte: number, keys: Key[]): void {
    if ((byte & 0xc0) !== 0x80) {
      mode = "ground";
      ground(byte, keys);
      return;
    }
    point.push(byte);
    if (point.length < pointLength) return;
    mode = "ground";
    const text = Buffer.from(point).toString("utf8");
    if (/^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(text) && text !== "\ufffd") keys.push({ kind: "text", point: text });
  }

  function paste(byte: number, keys: Key[]): void {
    // The one key that must always work: it can only end the program.
    if (byte === 0x03) keys.push({ kind: "interrupt" });
    if (byte === PASTE_END[matched]) {
      matched++;
      if (matched < PASTE_END.length) return;
      mode = "ground";
      keys.push({ kind: "paste", bytes: Buffer.from(pasted) });
      pasted.fill(0);
      pasted = [];
      return;
    }
    const again = byte === ESCAPE;
    for (const held of [...PASTE_END.subarray(0, matched), ...(again ? [] : [byte])]) {
      if (pasted.length < MAX_PASTE_BYTES) pasted.push(held);
    }
    matched = again ? 1 : 0;
  }

  function named(kind: NamedKey | undefined, keys: Key[]): void {
    if (kind !== undefined) keys.push({ kind });
  }

  return {
    feed(bytes) {
      const keys: Key[] = [];
      for (const byte of bytes) takers[mode](byte, keys);
      return keys;
    },
    flush() {
      if (mode === "ground" || mode === "paste") return [];
      const alone = mode === "escape";
      mode = "ground";
      return alone ? [{ kind: "escape" }] : [];
    },
    get waiting() {
      return mode !== "ground" && mode !== "paste";
    },
  };
}
