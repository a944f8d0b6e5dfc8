import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { IncomingRequest, OutgoingReply } from "../../../packages/request/src/node-http.ts";
import { type PlainHead, readPlainHead } from "../../../packages/request/src/plain-request.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Fault } from "../../kernel/failure.ts";

/** A connection whose bytes can be looked at before its stream has them. */
export interface PlainConnection extends Duplex {
  /**
   * Asks `take` about whatever arrives. The first bytes that it does not take, or the end, call `handOver` and begin the
   * stream, which has the connection from then on.
   */
  readPlainly(take: (bytes: Buffer) => boolean, handOver: () => void): void;
  /** As `write` of the stream, and past it where nothing waits there. */
  writePlainly(text: string): boolean;
}

export function isPlainConnection(connection: Duplex): connection is PlainConnection {
  return "readPlainly" in connection;
}

export interface PlainDoor {
  serve(request: PlainRequest, reply: PlainReply): void;
  /** Gives the connection to the general server, for good. */
  handOver(): void;
  /** Nothing came in time. */
  late(): void;
}

const NO_HEAD: { readonly bytes: Buffer; readonly head: PlainHead | null } = { bytes: Buffer.alloc(0), head: null };

/** Serves the plain requests of one connection without node:http. The first that is anything else hands it over. */
export function servePlainly(connection: PlainConnection, door: PlainDoor): void {
  let known = NO_HEAD;
  let open: PlainReply | null = null;
  let late = false;
  const waiting = setTimeout(() => {
    late = true;
    door.late();
  }, defaults.planeHeadMs).unref();
  connection.once("close", () => {
    clearTimeout(waiting);
    open?.over();
  });

  /** The same client sends the same head again and again. */
  function headOf(bytes: Buffer): PlainHead | null {
    if (known.head !== null && known.bytes.equals(bytes.subarray(0, known.bytes.length))) return known.head;
    const head = readPlainHead(bytes, defaults.agentHeaderBytes);
    if (head !== null) known = { bytes: Buffer.from(bytes.subarray(0, head.headBytes)), head };
    return head;
  }

  function take(bytes: Buffer): boolean {
    clearTimeout(waiting);
    if (late) return true;
    // One at a time: whoever sends the next before it has the answer is served the general way, in turn.
    if (open !== null) return false;
    const head = headOf(bytes);
    if (head === null || bytes.length !== head.headBytes + head.bodyBytes) return false;
    open = new PlainReply(connection, () => (open = null));
    door.serve(new PlainRequest(connection, head, bytes.subarray(head.headBytes)), open);
    return true;
  }

  connection.readPlainly(take, () => {
    clearTimeout(waiting);
    door.handOver();
  });
}

/** A request that is there as a whole, as far as the pipeline asks about it. */
export class PlainRequest implements IncomingRequest {
  readonly complete = true;
  readonly rawTrailers: readonly string[] = [];
  readonly socket: Duplex;
  readonly whole: Buffer;
  readonly head: PlainHead;
  constructor(socket: Duplex, head: PlainHead, whole: Buffer) {
    this.socket = socket;
    this.head = head;
    this.whole = whole;
  }
  get method(): string {
    return this.head.method;
  }
  get url(): string {
    return this.head.target;
  }
  get rawHeaders(): readonly string[] {
    return this.head.rawHeaders;
  }
  get headers(): PlainHead["headers"] {
    return this.head.headers;
  }
  read(): Buffer {
    return this.whole;
  }
  /** Everything has arrived: there is nothing to hear, to hold up or to let go by. */
  on(): void {}
  off(): void {}
  pause(): void {}
  resume(): void {}
}

/** The reply on the connection itself: with its length where the body is known, in chunks where it comes piece by piece. */
export class PlainReply implements OutgoingReply {
  headersSent = false;
  readonly #connection: PlainConnection;
  readonly #onOver: () => void;
  readonly #heard: (() => void)[] = [];
  #head = "";
  #chunked = false;
  #ends = false;
  #over = false;

  constructor(connection: PlainConnection, onOver: () => void) {
    this.#connection = connection;
    this.#onOver = onOver;
  }
  get destroyed(): boolean {
    return this.#connection.destroyed;
  }
  writeHead(status: number, headers: Readonly<Record<string, string | number>>): void {
    this.#ends = headers["connection"] === "close";
    this.#chunked = !("content-length" in headers) && status !== NO_CONTENT;
    let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n`;
    for (const name in headers) head += fieldOf(name, `${headers[name]}`);
    if (this.#chunked) head += "transfer-encoding: chunked\r\n";
    this.#head = `${head}${dateField()}${this.#ends ? "" : "connection: keep-alive\r\n"}\r\n`;
    this.headersSent = true;
  }
  write(text: string): boolean {
    if (text === "") return true;
    return this.#send(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  }
  end(body: string): void {
    if (!this.#chunked) this.#send(body);
    else {
      this.write(body);
      this.#send("0\r\n\r\n");
    }
    const connection = this.#connection;
    const ends = this.#ends && connection.writable;
    // Over when the kernel has it: whoever does not read its answers has none of its further requests served here.
    if (connection.writable && connection.writableLength > 0) connection.write("", () => this.over());
    else this.over();
    if (ends) connection.end(() => this.destroy());
  }
  destroy(): void {
    this.#connection.destroy();
  }
  once(event: "drain" | "close", hear: () => void): this {
    if (event === "drain") this.#connection.once(event, hear);
    else if (this.#over) hear();
    else this.#heard.push(hear);
    return this;
  }
  off(event: "drain" | "close", hear: () => void): void {
    if (event === "drain") this.#connection.off(event, hear);
    else if (this.#heard.includes(hear)) this.#heard.splice(this.#heard.indexOf(hear), 1);
  }
  /** It was sent, or whoever asked has gone. */
  over(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onOver();
    for (const hear of [...this.#heard]) hear();
  }
  #send(text: string): boolean {
    const all = this.#head + text;
    this.#head = "";
    // Whoever hung up meanwhile hears nothing any more.
    return this.#connection.writable ? this.#connection.writePlainly(all) : true;
  }
}

const NO_CONTENT = 204;
const FIELD_VALUE = /^[\x20-\x7e]*$/;

/** Ours alone, and still: no value breaks out of its line. */
function fieldOf(name: string, value: string): string {
  if (!FIELD_VALUE.test(value)) throw new Fault(`the field ${name} of a reply holds what no field can`);
  return `${name}: ${value}\r\n`;
}

let dateUntilMs = 0;
let dateText = "";

/** As RFC 9110 asks of whoever has a clock; written once a second. */
function dateField(): string {
  const nowMs = Date.now();
  if (nowMs >= dateUntilMs || nowMs < dateUntilMs - 1_000) {
    dateUntilMs = nowMs - (nowMs % 1_000) + 1_000;
    dateText = `date: ${new Date(nowMs).toUTCString()}\r\n`;
  }
  return dateText;
}
