import {
  type AnswerFault,
  type AnswerHead,
  BEGINNING,
  readField,
  readHead,
  readStatusLine,
  type StatusLine,
} from "./answer-head.ts";

/** What is told while an answer is read. Each of them may pause the parser. */
export interface AnswerEvents {
  /** A whole answer of status 102 to 199: the one that counts follows. */
  onInformational(): void;
  onHead(head: AnswerHead): void;
  /** A window on what was read from the socket, lent for the call. */
  onData(chunk: Buffer): void;
}

type State = "status" | "field" | "body" | "size" | "chunk" | "chunk_end" | "trailer" | "whole" | "ended" | "at_fault";

/**
 * Reads one answer: bytes in, events out. It holds no more than a line that is not whole, touches no socket, and stops for good at
 * the first byte that is wrong, at its end, or where somebody pauses it.
 */
export class AnswerParser {
  readonly #method: string;
  readonly #headBytes: number;
  readonly #events: AnswerEvents;
  #state: State = "status";
  #paused = false;
  #fault: AnswerFault | null = null;
  /** A line that is not whole yet. */
  #held = "";
  /** Of a head, or of all trailers and extensions of chunks: bounded, since nobody reads them. */
  #spent = 0;
  #start: StatusLine | null = null;
  #fields: string[] = [];
  #head: AnswerHead | null = null;
  /** Of the body or the chunk: bytes still to come. */
  #left = 0;

  constructor(method: string, headBytes: number, events: AnswerEvents) {
    this.#method = method;
    this.#headBytes = headBytes;
    this.#events = events;
  }

  /** Everything came. */
  get ended(): boolean {
    return this.#state === "ended";
  }

  get fault(): AnswerFault | null {
    return this.#fault;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Null before the head that counts is whole. */
  get head(): AnswerHead | null {
    return this.#head;
  }

  /** No event comes until it is resumed and given bytes, or none, again. */
  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
  }

  /** How many were read: all of them, unless it is paused, at its end or at fault. */
  take(bytes: Buffer): number {
    let at = 0;
    while (!this.#paused && this.#fault === null) {
      if (this.#state === "whole") this.#state = "ended";
      if (at === bytes.length || this.#state === "ended") break;
      at = this.#state === "body" || this.#state === "chunk" ? this.#readData(bytes, at) : this.#readLine(bytes, at);
    }
    return at;
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left);
    this.#left -= end - at;
    if (this.#left === 0) this.#state = this.#state === "body" ? "whole" : "chunk_end";
    this.#events.onData(bytes.subarray(at, end));
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(LINE_FEED, at);
    const end = feed < 0 ? bytes.length : feed + 1;
    const free = this.#state === "size" ? SIZE_LINE_CHARS : 0;
    const room = this.#headBytes + free - this.#spent - this.#held.length;
    this.#held += bytes.toString("latin1", at, Math.min(end, at + room));
    if (this.#isHopeless()) this.#refuseText();
    else if (end - at > room) this.#refuse("header_section", "response_too_large");
    else if (feed >= 0) this.#takeLine();
    return end;
  }

  /** Seen before the line is whole, so that nobody waits for the rest of something that is no answer. */
  #isHopeless(): boolean {
    if (this.#state === "chunk_end") return !"\r\n".startsWith(this.#held);
    return this.#state === "status" && !BEGINNING.startsWith(this.#held.slice(0, BEGINNING.length));
  }

  #takeLine(): void {
    const whole = this.#held;
    this.#held = "";
    const line = whole.slice(0, -2);
    if (!whole.endsWith("\r\n")) this.#refuseText();
    else if (line === "") this.#takeEmptyLine();
    else if (this.#state === "status") this.#takeStatus(line, whole.length);
    else if (this.#state === "field") this.#takeField(line, whole.length);
    else if (this.#state === "size") this.#takeSize(line);
    else if (this.#state === "trailer") this.#takeTrailer(line, whole.length);
    else this.#refuseText();
  }

  #takeEmptyLine(): void {
    if (this.#state === "field") this.#endHead();
    else if (this.#state === "chunk_end") this.#state = "size";
    else if (this.#state === "trailer") this.#state = "whole";
    else this.#refuseText();
  }

  #takeStatus(line: string, bytes: number): void {
    this.#start = readStatusLine(line);
    if (this.#start === null) this.#refuseText();
    else this.#go("field", bytes);
  }

  #takeField(line: string, bytes: number): void {
    if (!readField(line, this.#fields)) this.#refuseText();
    else if (this.#fields.length > 2 * FIELDS) this.#refuse("header_section", "response_too_large");
    else this.#go("field", bytes);
  }

  #endHead(): void {
    const head = this.#start === null ? "not_http" : readHead(this.#start, this.#fields, this.#method);
    this.#fields = [];
    this.#spent = 0;
    if (typeof head === "string") this.#refuse(head);
    // Nobody asked to continue or to switch.
    else if (head.status === 100 || head.status === 101) this.#refuse("response_not_expected");
    else if (head.status < 200) {
      this.#state = "status";
      this.#events.onInformational();
    } else {
      this.#head = head;
      this.#left = head.length;
      if (head.framing === "chunked") this.#state = "size";
      else this.#state = this.#left > 0 ? "body" : "whole";
      this.#events.onHead(head);
    }
  }

  #takeSize(line: string): void {
    const [, digits] = SIZE.exec(line) ?? [];
    if (digits === undefined) this.#refuseText();
    else {
      this.#left = Number.parseInt(digits, 16);
      this.#go(this.#left === 0 ? "trailer" : "chunk", line.length - digits.length);
    }
  }

  /** Read as strictly as a field, and dropped. One that would frame the message comes too late to be honest. */
  #takeTrailer(line: string, bytes: number): void {
    const fields: string[] = [];
    if (!readField(line, fields) || FRAMING.has(fields[0] ?? "")) this.#refuseText();
    else this.#go("trailer", bytes);
  }

  #go(state: State, spent: number): void {
    this.#state = state;
    this.#spent += spent;
  }

  #refuseText(): void {
    this.#refuse(this.#head === null ? "not_http" : "chunked_body");
  }

  #refuse(detail: string, reason: AnswerFault["reason"] = "response_malformed"): void {
    this.#state = "at_fault";
    this.#fault = { reason, detail };
  }
}

const LINE_FEED = 0x0a;
/** More than any server sends; each is an object of ours. */
const FIELDS = 512;
/** Twelve digits are more than any answer may have; extensions are read as strictly as they are written down, and dropped. */
const SIZE =
  /^([0-9A-Fa-f]{1,12})(?:;[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:=(?:[!#$%&'*+\-.^_`|~0-9A-Za-z]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/;
const SIZE_LINE_CHARS = 14;
const FRAMING = new Set(["content-length", "transfer-encoding", "connection", "upgrade"]);
