import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { type Dispatcher, errors } from "undici";
import { isSpooled, type SentBody, type SpooledBody } from "../../../conventions/action/spooled.ts";
import type { Silent, Streamed } from "../../../conventions/outcome/observation.ts";
import type { AnswerHolder, AnswerRoom } from "../../../gateway/ports.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { Connection } from "./connection.ts";
import type { PassOn } from "./pass-on.ts";
import { type ParsedFields, type ResponseHead, readResponseHead } from "./response-headers.ts";
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
    const reader = new AnswerReader(request, connection.socket, stop, resolve);
    const { method, path, headers, body } = request;
    // `idempotent: false` and one client per socket: undici has neither reason nor means to send anything twice.
    const written = body !== null && isSpooled(body) ? fromFile(body, headers, reader) : { headers, body };
    connection.client.dispatch({ method, path, ...written, idempotent: false, blocking: true }, reader);
  });
}

/** Read while it is sent; its length is known before. */
function fromFile(
  body: SpooledBody,
  headers: readonly string[],
  reader: AnswerReader,
): { readonly headers: string[]; readonly body: Readable } {
  const file = body.read().once("error", () => reader.bodyFailed());
  return { headers: [...headers, "content-length", String(body.byteLength)], body: file };
}

/** A few are normal (103 Early Hints); a stream of them is somebody holding the connection. */
const INFORMATIONAL_RESPONSES = 8;

const NOTHING = Buffer.alloc(0);
/** What is set aside on the word of a Content-Length alone. */
const BODY_STEP_BYTES = 65_536;

class AnswerReader implements Dispatcher.DispatchHandler {
  readonly #method: string;
  readonly #room: AnswerRoom | undefined;
  readonly #holder: AnswerHolder | undefined;
  #responseBytes: number;
  readonly #answerHeader: string | undefined;
  readonly #socket: Socket;
  readonly #stop: Stop;
  readonly #resolve: (exchanged: Exchanged) => void;
  readonly #passOn: PassOn | null;
  #passes = false;
  #controller: Dispatcher.DispatchController | null = null;
  #settled = false;
  readonly #writtenBefore: number;
  #bodyFailed = false;
  #informational = 0;
  #status = 0;
  #head: ResponseHead | null = null;
  /** Grows by doubling: keeping the pieces would let a peer turn a small body into millions of objects. */
  #body: Buffer = NOTHING;
  #size = 0;
  /** Of an answer that is not small: this exchange took a place for it, and still waits for it. */
  #took = false;
  #waits = false;

  constructor(request: ExchangeRequest, socket: Socket, stop: Stop, resolve: (exchanged: Exchanged) => void) {
    this.#socket = socket;
    this.#writtenBefore = socket.bytesWritten;
    this.#method = request.method;
    this.#responseBytes = request.responseBytes;
    this.#answerHeader = request.answerHeader;
    this.#room = request.room;
    this.#holder = request.holder;
    this.#passOn = request.passOn ?? null;
    this.#stop = stop;
    this.#resolve = resolve;
    stop.onStop = (cause) => this.#stopped(cause);
  }

  /** What was to be sent could not be read, or was let go. */
  bodyFailed(): void {
    this.#bodyFailed = true;
  }

  /**
   * undici calls this directly before its first write, in the same turn where it has the whole body. Where the body is a file it
   * writes with the first piece of it, so that the socket is asked too: what it was given and has not sent yet counts.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#settled) controller.abort(new Error("stopped before the first byte"));
    else this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, fields: ParsedFields): void {
    if (status < 200) {
      if (++this.#informational > INFORMATIONAL_RESPONSES) this.#refuse("response_malformed", "informational_flood");
      return;
    }
    const head = readResponseHead(fields, this.#answerHeader);
    this.#status = status;
    this.#head = head;
    const fault = this.#faultOf(head, status);
    if (fault !== null) this.#refuse("response_malformed", fault);
    else if (this.#hasBody(status) && (head.contentLength ?? 0) > this.#responseBytes) {
      this.#tooLarge("announced");
    } else if (this.#hasBody(status) && !head.encoded) {
      this.#passes = this.#passOn?.begin(status, head.headers) ?? false;
      if (this.#passes) return;
      this.#responseBytes = Math.min(this.#responseBytes, defaults.wholeResponseMaximumBytes);
      if ((head.contentLength ?? 0) > this.#responseBytes) this.#tooLarge("announced");
      else if ((head.contentLength ?? 0) > defaults.smallAnswerBytes) this.#takePlace(controller);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    if (this.#head?.encoded) this.#refuse("response_malformed", "content_encoding");
    else if (this.#size + chunk.byteLength > this.#responseBytes) {
      this.#tooLarge("sent");
    } else if (this.#passes) this.#hand(controller, chunk);
    else {
      this.#append(chunk);
      if (this.#size > defaults.smallAnswerBytes && !this.#took) this.#takePlace(controller);
    }
  }

  /** For all that may come of it, once; the peer waits while there is no room. The deadline goes on. */
  #takePlace(controller: Dispatcher.DispatchController): void {
    if (this.#room === undefined || this.#holder === undefined) return;
    this.#took = true;
    const bytes = this.#head?.contentLength ?? this.#responseBytes;
    this.#waits = !this.#room.take(this.#holder, bytes, () => {
      this.#waits = false;
      controller.resume();
    });
    if (this.#waits) controller.pause();
  }

  #tooLarge(how: "announced" | "sent"): void {
    this.#refuse("response_too_large", `more than ${this.#responseBytes} bytes ${how}`);
  }

  /** A copy for the same reason as below; the peer waits while whoever gets it is busy. */
  #hand(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#size += chunk.byteLength;
    const ready = this.#passOn?.write(Buffer.from(chunk)) ?? null;
    if (ready === "echoed") this.#refuse("credential_echoed", "cut off where the answer held the credential");
    else if (ready !== null) {
      controller.pause();
      void ready.then(() => controller.resume());
    }
  }

  onResponseEnd(): void {
    if (this.#head === null) {
      this.#settle({ kind: "silent", reason: "response_malformed", detail: "no_head" });
      return;
    }
    if (this.#passes && !this.#settled) this.#passOn?.end();
    const body = this.#passes ? NOTHING : this.#body.subarray(0, this.#size);
    this.#settle({ kind: "answered", status: this.#status, head: this.#head, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: NodeJS.ErrnoException): void {
    if (this.#isUnwritten()) this.#settle({ kind: "not_written", cause: this.#bodyFailed ? "aborted" : null });
    else this.#settle({ kind: "silent", ...silenceOf(error, this.#socket.readableEnded) });
  }

  /** A copy: the chunk is a window on what the socket read, header section included. */
  #append(chunk: Buffer): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#body.byteLength) {
      const announced = Math.min(this.#head?.contentLength ?? 0, this.#took ? this.#responseBytes : BODY_STEP_BYTES);
      const doubled = Math.min(2 * this.#body.byteLength, this.#responseBytes);
      const grown = Buffer.allocUnsafeSlow(Math.max(size, announced, doubled));
      this.#body.copy(grown, 0, 0, this.#size);
      this.#body = grown;
    }
    chunk.copy(this.#body, this.#size);
    this.#size = size;
  }

  #hasBody(status: number): boolean {
    return this.#method !== "HEAD" && status !== 204 && status !== 304;
  }

  /** A body must say where it ends: one that ends with the connection cannot be told from one that was cut off. */
  #faultOf(head: ResponseHead, status: number): string | null {
    switch (head.framing) {
      case "both":
        return "content_length_and_transfer_encoding";
      case "unknown_coding":
        return "transfer_encoding";
      case null:
        return this.#hasBody(status) ? "length_not_stated" : null;
      case "length":
      case "chunked":
        return null;
    }
  }

  #isUnwritten(): boolean {
    return this.#controller === null || this.#socket.bytesWritten === this.#writtenBefore;
  }

  #stopped(cause: StopCause): void {
    if (this.#isUnwritten()) {
      this.#settle({ kind: "not_written", cause });
      this.#controller?.abort(new Error("stopped before the first byte"));
    } else {
      const begun = this.#waits ? "no_room_for_response" : "response_not_finished";
      const detail = this.#head === null ? "no_response" : begun;
      this.#refuse(cause === "deadline" ? "timeout" : "aborted", detail);
    }
  }

  #refuse(reason: Silent["reason"], detail: string): void {
    this.#settle({ kind: "silent", reason, detail });
    this.#controller?.abort(new Error(detail));
  }

  #settlePlace(bytes: number): void {
    if (this.#room === undefined || this.#holder === undefined) return;
    if (bytes === 0) this.#room.leave(this.#holder);
    else this.#room.fit(this.#holder, bytes);
  }

  #settle(exchanged: Exchanged): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#stop.onStop = null;
    if (this.#took) this.#settlePlace(exchanged.kind === "answered" ? this.#size : 0);
    this.#body = NOTHING;
    const streamed = this.#passOn?.done();
    this.#resolve(streamed === undefined || exchanged.kind === "not_written" ? exchanged : { ...exchanged, streamed });
  }
}

/** Codes and our own words only: the message of a parser error can quote the peer. `ended`: the peer said it is done. */
function silenceOf(
  error: NodeJS.ErrnoException,
  ended: boolean,
): { readonly reason: Silent["reason"]; readonly detail: string } {
  if (error instanceof errors.HeadersOverflowError) return { reason: "response_too_large", detail: "header_section" };
  if (error instanceof errors.HTTPParserError || error instanceof errors.ResponseContentLengthMismatchError) {
    // The parser has one complaint for a message that is wrong and for one that was cut off.
    if (ended) return { reason: "connection_lost", detail: "response_not_finished" };
    return { reason: "response_malformed", detail: "not_http" };
  }
  // undici's words, not the peer's: an answer to nothing, a 100 or a 101 that nobody asked for.
  if (error.message === "bad response" || error.message === "bad upgrade") {
    return { reason: "response_malformed", detail: "response_not_expected" };
  }
  return { reason: "connection_lost", detail: error.code ?? "unnamed" };
}
