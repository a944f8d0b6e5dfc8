import type { Socket } from "node:net";
import type { AnswerFault } from "./answer-head.ts";
import { type AnswerEvents, AnswerParser } from "./answer-parser.ts";
import { nextTurn } from "./next-turn.ts";
import { type Upload, upload } from "./upload.ts";

/** Whoever reads the answer to one request. After `onEnd`, `onFault` or `onLost` nothing more is told. */
export interface Reader extends AnswerEvents {
  /** Directly before the first byte is handed to the socket: the line between sent and not sent. */
  onWrite(): void;
  onEnd(): void;
  onFault(fault: AnswerFault): void;
  /** The connection is gone, with our own word or the system's code for it. */
  onLost(code: string): void;
}

export interface WireRequest {
  readonly method: string;
  /** Request line and header section, judged before: see `checkRequestHeaders` and `readTarget`. */
  readonly head: string;
  readonly body: Buffer | Upload | null;
  /** Whether the connection may be used again after it. */
  readonly keeps: boolean;
}

export interface ConnectionLimits {
  readonly idleMs: number;
  readonly responseHeaderBytes: number;
}

/**
 * One socket, dialled by us, that carries one exchange at a time. It is never dialled again: when the socket is gone there is nothing
 * that could quietly send the request once more. A byte that nobody asked for ends it.
 */
export class Connection {
  readonly socket: Socket;
  readonly address: string;
  /** As the Host field has it. */
  readonly host: string;
  /** Called once when it goes while nothing is under way. */
  onGone: (() => void) | null = null;
  readonly #limits: ConnectionLimits;
  #reader: Reader | null = null;
  /** Whether the request under way lets it be used again. */
  #keeps = false;
  /** There is one from the first byte of a request to the last of its answer. */
  #parser: AnswerParser | null = null;
  /** What the socket gave and the paused parser has not read. */
  #rest: Buffer | null = null;
  /** Of a body that is read while it is sent, until all of it is. */
  #stopBody: (() => void) | null = null;
  /** The peer is done, and the paused parser is not. */
  #ending = false;
  #gone = false;
  /** By `performance.now`; a new one has not rested yet. */
  #restsUntil = Number.POSITIVE_INFINITY;
  #timer: NodeJS.Timeout | null = null;

  constructor(host: string, address: string, socket: Socket, limits: ConnectionLimits) {
    this.host = host;
    this.address = address;
    this.socket = socket;
    this.#limits = limits;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("end", () => this.#end());
    socket.on("error", (error: NodeJS.ErrnoException) => this.#lose(error.code ?? "unnamed"));
    socket.on("close", () => this.#end());
  }

  /** Fit for another exchange: open, not rested for too long, and nothing came that was not asked for. */
  get reusable(): boolean {
    return !this.#gone && this.#reader === null && !this.socket.destroyed && performance.now() < this.#restsUntil;
  }

  /**
   * The first byte is written in the next turn of the loop: what a server said or did to a connection at rest is heard before, and
   * then nothing is written.
   */
  carry(request: WireRequest, reader: Reader): void {
    if (this.#gone || this.#reader !== null || this.socket.destroyed) {
      reader.onLost("gone");
      return;
    }
    this.#keeps = request.keeps;
    this.#reader = reader;
    const { body } = request;
    if (isUpload(body)) {
      // For life: it may fail before anybody reads it.
      body.file.on("error", () => {});
      this.#stopBody = () => void body.file.destroy();
    }
    this.socket.ref();
    nextTurn(() => this.#write(request, reader));
  }

  /** The peer waits: what it sends is left where it is. */
  pause(): void {
    this.#parser?.pause();
    this.socket.pause();
  }

  resume(): void {
    const rest = this.#rest ?? NOTHING;
    if (this.#parser === null) return;
    this.#rest = null;
    this.#parser.resume();
    this.socket.resume();
    this.#take(rest);
    if (this.#ending && this.#parser !== null) this.#end();
  }

  /** Tells nobody: whoever calls it knows. */
  close(): void {
    this.#gone = true;
    this.#reader = null;
    // It may be in the middle of what it was given.
    this.#parser?.pause();
    this.#parser = null;
    this.#rest = null;
    this.#stopBody?.();
    this.#stopBody = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.socket.destroy();
  }

  #write(request: WireRequest, reader: Reader): void {
    // Called off, or gone, in the meantime.
    if (this.#reader !== reader) return;
    if (!this.socket.writable || this.socket.writableLength > 0) this.#lose("closed");
    else if (isUpload(request.body)) this.#upload(request, request.body, reader);
    else if (request.body === null) this.#begin(request, reader);
    else {
      this.socket.cork();
      this.#begin(request, reader);
      this.socket.write(request.body);
      this.socket.uncork();
    }
  }

  /** With the first piece of what is read: a file that cannot be read, or was let go before, has sent nothing. */
  #upload(request: WireRequest, body: Upload, reader: Reader): void {
    this.#stopBody = upload(body, this.socket, {
      begin: () => this.#begin(request, reader),
      done: (whole) => {
        this.#stopBody = null;
        if (!whole) this.#lose(BODY_FAILED);
      },
    });
  }

  #begin({ method, head }: WireRequest, reader: Reader): void {
    this.#parser = new AnswerParser(method, this.#limits.responseHeaderBytes, reader);
    reader.onWrite();
    this.socket.write(head, "latin1");
  }

  #take(chunk: Buffer): void {
    const parser = this.#parser;
    if (parser === null) this.#lose("response_not_expected");
    // A socket that is paused may still give what it had.
    else if (this.#rest !== null) this.#rest = Buffer.concat([this.#rest, chunk]);
    else {
      try {
        this.#read(parser, chunk);
      } catch {
        // A mistake of whoever reads must not end the program.
        this.#lose(FAULT);
      }
    }
  }

  #read(parser: AnswerParser, chunk: Buffer): void {
    const taken = parser.take(chunk);
    // Its reader may have closed the connection.
    if (this.#parser !== parser) return;
    if (parser.fault !== null) this.#refuse(parser.fault);
    else if (parser.ended) this.#complete(parser, taken === chunk.length);
    else if (taken < chunk.length) this.#rest = chunk.subarray(taken);
  }

  #refuse(fault: AnswerFault): void {
    const reader = this.#reader;
    this.close();
    reader?.onFault(fault);
  }

  /** An answer that came before all of the request was read is one, and the last on this connection; so is one with bytes behind it. */
  #complete({ head }: AnswerParser, clean: boolean): void {
    const reader = this.#reader;
    const whole = clean && this.#stopBody === null && !this.#ending;
    const restMs = Math.min(this.#limits.idleMs, (head?.keepsMs ?? Number.POSITIVE_INFINITY) - KEEP_ALIVE_MARGIN_MS);
    if (whole && head?.keeps === true && this.#keeps && restMs > 0) this.#park(restMs);
    else this.close();
    try {
      reader?.onEnd();
    } catch {
      this.close();
      reader?.onLost(FAULT);
    }
  }

  #park(restMs: number): void {
    this.#reader = null;
    this.#parser = null;
    this.#restsUntil = performance.now() + restMs;
    this.socket.unref();
    this.#watch(restMs);
    if (this.socket.writableLength > 0) nextTurn(() => this.#giveUpUnsent());
  }

  /** The system says a moment later that it has taken what was written. What it has not taken by then, the server does not read. */
  #giveUpUnsent(): void {
    if (this.#reader === null && this.socket.writableLength > 0) this.#lose("closed");
  }

  /** One timer for many rests: it looks again when it is called too early. */
  #watch(restMs: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      if (this.#reader !== null) return;
      const left = this.#restsUntil - performance.now();
      if (left > 0) this.#watch(left);
      else this.#lose("idle");
    }, restMs).unref();
  }

  /** What came before is read first, also where it waits for room. */
  #end(): void {
    if (this.#parser?.paused === true) this.#ending = true;
    else this.#lose("closed");
  }

  #lose(code: string): void {
    if (this.#gone) return;
    const reader = this.#reader;
    this.close();
    if (reader !== null) reader.onLost(code);
    else this.onGone?.();
  }
}

/** A server that says `Keep-Alive: timeout=N` is left this much before N, so that our bytes do not cross its close. */
const KEEP_ALIVE_MARGIN_MS = 2_000;
/** A mistake of whoever reads. */
export const FAULT = "fault_in_transport";
/** What `onLost` is told where a body could not be read, or was not what was announced. */
export const BODY_FAILED = "request_body";
const NOTHING = Buffer.alloc(0);

function isUpload(body: WireRequest["body"]): body is Upload {
  return body !== null && !Buffer.isBuffer(body);
}
