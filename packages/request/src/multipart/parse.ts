/**
 * multipart/form-data as bytes arrive, in one spelling: the boundary comes first, each delimiter stands alone on its line,
 * the closing one comes last. Nothing is buffered but a header block and a possible start of a delimiter.
 */
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";

export interface PartHandler {
  /** The header block without its final blank line. The bytes are lent for the call. */
  beginPart(header: Buffer): void;
  /** Content of the current part: a view of the piece that was pushed. */
  data(bytes: Buffer): void;
  endPart(): void;
}

export interface MultipartParser {
  push(chunk: Uint8Array): void;
  /** Throws when the closing delimiter has not come. */
  finish(): void;
}

type State = "start" | "delimited" | "header" | "content" | "closed" | "ended";

const BLANK_LINE = Buffer.from("\r\n\r\n");
const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;

export function createMultipartParser(boundary: string, handler: PartHandler): MultipartParser {
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const opening = delimiter.subarray(2);
  let state: State = "start";
  let held: Buffer = Buffer.alloc(0);

  /** One step over `bytes` from `at`. Returns where to go on, or -1 when more bytes are needed. */
  function step(bytes: Buffer, at: number): number {
    switch (state) {
      case "start":
        return stepOpening(bytes, at);
      case "delimited":
        return stepDelimited(bytes, at);
      case "header":
        return stepHeader(bytes, at);
      case "content":
        return stepContent(bytes, at);
      case "closed":
        return stepClosed(bytes, at);
      case "ended":
        throw malformed("bytes follow the closing delimiter");
    }
  }

  function stepOpening(bytes: Buffer, at: number): number {
    const seen = Math.min(opening.length, bytes.length - at);
    // Judged as soon as a byte differs, so that a preamble is never waited for.
    if (bytes.compare(opening, 0, seen, at, at + seen) !== 0)
      throw malformed("the body does not start with the boundary");
    if (seen < opening.length) return -1;
    state = "delimited";
    return at + opening.length;
  }

  function stepDelimited(bytes: Buffer, at: number): number {
    if (bytes.length - at < 2) return -1;
    const [first, second] = [bytes[at], bytes[at + 1]];
    if (first === CR && second === LF) state = "header";
    else if (first === DASH && second === DASH) state = "closed";
    else throw malformed("a delimiter is followed by something other than a line end or two dashes");
    return at + 2;
  }

  function stepHeader(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(BLANK_LINE, at);
    if ((end < 0 ? bytes.length : end) - at > defaults.multipartHeaderBytes) {
      throw malformed(`a part's header is longer than ${defaults.multipartHeaderBytes} bytes`);
    }
    if (end < 0) return -1;
    handler.beginPart(bytes.subarray(at, end));
    state = "content";
    return end + BLANK_LINE.length;
  }

  function stepContent(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(delimiter, at);
    if (end >= 0) {
      if (end > at) handler.data(bytes.subarray(at, end));
      handler.endPart();
      state = "delimited";
      return end + delimiter.length;
    }
    const keep = possibleStart(bytes, at, delimiter);
    if (keep > at) handler.data(bytes.subarray(at, keep));
    return keep < bytes.length ? hold(bytes, keep) : bytes.length;
  }

  function stepClosed(bytes: Buffer, at: number): number {
    // One line end may follow the closing delimiter, as most clients write it; anything more is an epilogue.
    if (bytes[at] !== CR || (bytes.length - at >= 2 && bytes[at + 1] !== LF)) {
      throw malformed("bytes follow the closing delimiter");
    }
    if (bytes.length - at < 2) return -1;
    state = "ended";
    return at + 2;
  }

  function hold(bytes: Buffer, from: number): number {
    held = Buffer.from(bytes.subarray(from));
    return bytes.length;
  }

  return {
    push(chunk) {
      if (chunk.length === 0) return;
      let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      if (held.length > 0) {
        bytes = Buffer.concat([held, bytes]);
        held = Buffer.alloc(0);
      }
      for (let at = 0; at < bytes.length; ) {
        const next = step(bytes, at);
        if (next < 0) {
          hold(bytes, at);
          return;
        }
        at = next;
      }
    },
    finish() {
      const closed = state === "ended" || (state === "closed" && held.length === 0);
      if (!closed) throw malformed("the body ends before the closing delimiter");
    },
  };
}

/** Where the last bytes could be the start of a delimiter; the length when they cannot. */
function possibleStart(bytes: Buffer, from: number, delimiter: Buffer): number {
  const earliest = Math.max(from, bytes.length - delimiter.length + 1);
  for (let at = bytes.indexOf(CR, earliest); at >= 0; at = bytes.indexOf(CR, at + 1)) {
    if (bytes.compare(delimiter, 0, bytes.length - at, at) === 0) return at;
  }
  return bytes.length;
}

export function malformed(message: string): Denied {
  return new Denied("multipart_malformed", message);
}
