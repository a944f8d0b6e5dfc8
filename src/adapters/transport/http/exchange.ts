import { isSpooled, type SentBody } from "../../../conventions/action/spooled.ts";
import type { Silent, Streamed } from "../../../conventions/outcome/observation.ts";
import type { AnswerHolder, AnswerRoom } from "../../../gateway/ports.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { AnswerFault, AnswerHead } from "./answer-head.ts";
import { BODY_FAILED, type Connection, FAULT, type Reader, type WireRequest } from "./connection.ts";
import { Gather } from "./gather.ts";
import type { PassOn } from "./pass-on.ts";
import { type ResponseHead, readResponseHead } from "./response-headers.ts";
import type { Stop, StopCause } from "./stop.ts";

/** What one connection made of one request. `not_written` is proof: not one byte was handed to the socket. */
export type Exchanged =
  | { readonly kind: "not_written"; readonly cause: StopCause | null }
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly head: ResponseHead;
      readonly body: Buffer;
      readonly streamed?: Streamed;
    }
  | {
      readonly kind: "silent";
      readonly reason: Silent["reason"];
      readonly detail: string;
      readonly streamed?: Streamed;
    };

export interface ExchangeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: string[];
  readonly body: SentBody | null;
  readonly responseBytes: number;
  readonly answerHeader?: string | undefined;
  readonly passOn?: PassOn | null;
  readonly room?: AnswerRoom | undefined;
  readonly holder?: AnswerHolder | undefined;
}

export function exchange(connection: Connection, request: ExchangeRequest, stop: Stop): Promise<Exchanged> {
  if (stop.cause !== null) return Promise.resolve({ kind: "not_written", cause: stop.cause });
  return new Promise((resolve) => {
    const wired = onWire(connection.host, request);
    connection.carry(wired, new AnswerReader(request, connection, stop, resolve));
  });
}

/** Methods that are expected to carry a body, and say so where it is empty. */
const PAYLOAD = new Set(["POST", "PUT", "PATCH"]);
const PATH = /^[\x21-\x7e]+$/;

/** Every name and value has been judged before: see `checkRequestHeaders` and `readTarget`. */
function onWire(host: string, { method, path, headers, body: given }: ExchangeRequest): WireRequest {
  if (!PATH.test(path)) throw new Error("a path that is not in canonical form");
  const body = given !== null && given.byteLength > 0 ? given : null;
  // After an answer to HEAD, or to a body where none is expected, some servers go on in ways that nobody can tell from the next answer.
  const keeps = method !== "HEAD" && (body === null || PAYLOAD.has(method));
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${keeps ? "keep-alive" : "close"}\r\n`;
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  if (body !== null || PAYLOAD.has(method)) head += `content-length: ${body?.byteLength ?? 0}\r\n`;
  const sent = body !== null && isSpooled(body) ? { file: body.read(), bytes: body.byteLength } : body;
  return { method, head: `${head}\r\n`, body: sent, keeps };
}

/** A few are normal (103 Early Hints); a stream of them is somebody holding the connection. */
const INFORMATIONAL_RESPONSES = 8;

const NOTHING = Buffer.alloc(0);
/** What is set aside on the word of a Content-Length alone. */
const BODY_STEP_BYTES = 65_536;

class AnswerReader implements Reader {
  readonly #room: AnswerRoom | undefined;
  readonly #holder: AnswerHolder | undefined;
  #responseBytes: number;
  readonly #method: string;
  readonly #answerHeader: string | undefined;
  readonly #connection: Connection;
  readonly #stop: Stop;
  readonly #resolve: (exchanged: Exchanged) => void;
  readonly #passOn: PassOn | null;
  /** Of an answer that is passed on: its pieces, on their way there. */
  #passing: Gather | null = null;
  #ended = false;
  #written = false;
  #settled = false;
  #informational = 0;
  #answer: AnswerHead | null = null;
  #head: ResponseHead | null = null;
  /** Grows by doubling: keeping the pieces would let a peer turn a small body into millions of objects. */
  #body: Buffer = NOTHING;
  #size = 0;
  /** Of an answer that is not small: this exchange took a place for it, and still waits for it. */
  #took = false;
  #waits = false;

  constructor(request: ExchangeRequest, connection: Connection, stop: Stop, resolve: (exchanged: Exchanged) => void) {
    this.#connection = connection;
    this.#responseBytes = request.responseBytes;
    this.#method = request.method;
    this.#answerHeader = request.answerHeader;
    this.#room = request.room;
    this.#holder = request.holder;
    this.#passOn = request.passOn ?? null;
    this.#stop = stop;
    this.#resolve = resolve;
    stop.onStop = (cause) => this.#stopped(cause);
  }

  onWrite(): void {
    this.#written = true;
  }

  onInformational(): void {
    if (++this.#informational > INFORMATIONAL_RESPONSES) this.#refuse("response_malformed", "informational_flood");
  }

  onHead(answer: AnswerHead): void {
    const head = readResponseHead(answer.fields, this.#method, this.#answerHeader);
    this.#answer = answer;
    this.#head = head;
    if (answer.framing === "none") return;
    if (answer.length > this.#responseBytes) this.#tooLarge("announced");
    else if (!head.encoded) this.#begin(answer, head);
  }

  #begin(answer: AnswerHead, head: ResponseHead): void {
    const passOn = this.#passOn;
    if (passOn?.begin(answer.status, head.headers) === true) {
      this.#passing = new Gather(passOn.looksBack, (bytes) => this.#hand(passOn, bytes));
      return;
    }
    this.#responseBytes = Math.min(this.#responseBytes, defaults.wholeResponseMaximumBytes);
    if (answer.length > this.#responseBytes) this.#tooLarge("announced");
    else if (answer.length > defaults.smallAnswerBytes) this.#takePlace();
  }

  onData(chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#head?.encoded) this.#refuse("response_malformed", "content_encoding");
    else if (this.#size + chunk.byteLength > this.#responseBytes) {
      this.#tooLarge("sent");
    } else if (this.#passing !== null) {
      this.#size += chunk.byteLength;
      this.#passing.add(chunk);
    } else {
      this.#append(chunk);
      if (this.#size > defaults.smallAnswerBytes && !this.#took) this.#takePlace();
    }
  }

  /** For all that may come of it, once; the peer waits while there is no room. The deadline goes on. */
  #takePlace(): void {
    if (this.#room === undefined || this.#holder === undefined) return;
    this.#took = true;
    const bytes = this.#announced() ?? this.#responseBytes;
    this.#waits = !this.#room.take(this.#holder, bytes, () => {
      this.#waits = false;
      this.#connection.resume();
    });
    if (this.#waits) this.#connection.pause();
  }

  #tooLarge(how: "announced" | "sent"): void {
    this.#refuse("response_too_large", `more than ${this.#responseBytes} bytes ${how}`);
  }

  /** The peer waits while whoever gets it is busy. A mistake of theirs is nobody else's. */
  #hand(passOn: PassOn, bytes: Buffer): void {
    try {
      const ready = passOn.write(bytes);
      if (ready === "echoed") this.#refuse("credential_echoed", "cut off where the answer held the credential");
      // After its end the connection is another's.
      else if (ready !== null && !this.#ended) {
        this.#connection.pause();
        void ready.then(() => this.#settled || this.#connection.resume());
      }
    } catch {
      this.#refuse("connection_lost", FAULT);
    }
  }

  onEnd(): void {
    if (this.#answer === null || this.#head === null) {
      this.onFault({ reason: "response_malformed", detail: "no_head" });
      return;
    }
    this.#ended = true;
    this.#passing?.flush();
    if (this.#passing !== null && !this.#settled) this.#passOn?.end();
    const body = this.#passing !== null ? NOTHING : this.#body.subarray(0, this.#size);
    this.#settle({ kind: "answered", status: this.#answer.status, head: this.#head, body });
  }

  onFault(fault: AnswerFault): void {
    this.#settle({ kind: "silent", ...fault });
  }

  onLost(code: string): void {
    const detail = code === "closed" && this.#answer !== null ? "response_not_finished" : code;
    // A body that was let go is no reason to try another connection.
    if (!this.#written) this.#settle({ kind: "not_written", cause: code === BODY_FAILED ? "aborted" : null });
    else this.#settle({ kind: "silent", reason: "connection_lost", detail });
  }

  /** The length that the answer states. */
  #announced(): number | undefined {
    return this.#answer?.framing === "length" ? this.#answer.length : undefined;
  }

  /** A copy: the chunk is a window on what the socket read, header section included. */
  #append(chunk: Buffer): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#body.byteLength) {
      const announced = Math.min(this.#announced() ?? 0, this.#took ? this.#responseBytes : BODY_STEP_BYTES);
      const doubled = Math.min(2 * this.#body.byteLength, this.#responseBytes);
      const grown = Buffer.allocUnsafe(Math.max(size, announced, doubled));
      this.#body.copy(grown, 0, 0, this.#size);
      this.#body = grown;
    }
    chunk.copy(this.#body, this.#size);
    this.#size = size;
  }

  #stopped(cause: StopCause): void {
    if (!this.#written) {
      this.#settle({ kind: "not_written", cause });
      this.#connection.close();
    } else {
      const begun = this.#waits ? "no_room_for_response" : "response_not_finished";
      const detail = this.#head === null ? "no_response" : begun;
      this.#refuse(cause === "deadline" ? "timeout" : "aborted", detail);
    }
  }

  #refuse(reason: Silent["reason"], detail: string): void {
    this.#settle({ kind: "silent", reason, detail });
    this.#connection.close();
  }

  #settlePlace(bytes: number): void {
    if (this.#room === undefined || this.#holder === undefined) return;
    if (bytes === 0) this.#room.leave(this.#holder);
    else this.#room.fit(this.#holder, bytes);
  }

  #settle(exchanged: Exchanged): void {
    // What came is handed on, whatever came after it; that may itself be the end.
    this.#passing?.flush();
    if (this.#settled) return;
    this.#settled = true;
    this.#stop.onStop = null;
    if (this.#took) this.#settlePlace(exchanged.kind === "answered" ? this.#size : 0);
    this.#body = NOTHING;
    const streamed = this.#passOn?.done();
    this.#resolve(streamed === undefined || exchanged.kind === "not_written" ? exchanged : { ...exchanged, streamed });
  }
}
