import { closeSync } from "node:fs";
import { Duplex } from "node:stream";
import { Denied, Fault } from "../../../kernel/failure.ts";
import type { CredentialRead } from "./credential-reader.ts";
import { errnos, lastErrno, loadLibc, nameErrno } from "./libc.ts";
import { EPOLLERR, EPOLLHUP, EPOLLIN, EPOLLOUT, type Reactor, type Watch } from "./reactor.ts";

type Done = (error?: Error | null) => void;

interface Pending {
  readonly bytes: Buffer;
  readonly done: Done;
}

const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const SHUT_WR = 1;

/**
 * A connected local socket whose every byte is known to come from the process that connected. Bytes of anybody else end
 * the connection before they reach a reader. It serves as a socket for node:http (`server.emit("connection", …)`).
 */
export class VerifiedConnection extends Duplex {
  readonly fd: number;
  /** What the kernel has taken so far: it takes more as the peer reads. */
  sentBytes = 0;
  readonly #peer: number;
  readonly #read: (fd: number) => CredentialRead;
  readonly #watch: Watch;
  #interest = 0;
  #hungUp = false;
  #ended = false;
  #pending: Pending | undefined;
  #idle: NodeJS.Timeout | undefined;
  #plain: { take(bytes: Buffer): boolean; handOver(): void } | null = null;

  /** `peer` is the pid that the kernel noted at connect. The descriptor belongs to the connection from here on. */
  constructor(fd: number, peer: number, reactor: Reactor, read: (fd: number) => CredentialRead) {
    super({ allowHalfOpen: true, emitClose: true });
    this.fd = fd;
    this.#peer = peer;
    this.#read = read;
    this.#watch = reactor.watch(fd, { events: 0, holds: true }, (events) => this.#ready(events));
  }

  /** As net.Socket has it: `timeout` is emitted after so long without traffic, and nothing else happens. */
  setTimeout(ms: number, listener?: () => void): this {
    clearTimeout(this.#idle);
    this.#idle = ms > 0 ? setTimeout(() => this.emit("timeout"), ms).unref() : undefined;
    if (listener !== undefined) this.once("timeout", listener);
    return this;
  }

  /**
   * Asks `take` about whatever arrives, past the stream. The first bytes that it does not take, or the end, call `handOver`
   * and begin the stream, which has the connection from then on.
   */
  readPlainly(take: (bytes: Buffer) => boolean, handOver: () => void): void {
    this.#plain = { take, handOver };
    this.#want(this.#interest | EPOLLIN);
  }

  /**
   * Past the stream where nothing waits there and the kernel takes it at once, which it nearly always does: a stream turns
   * the loop's queue of ticks for every write. What the kernel leaves goes the stream's way.
   */
  writePlainly(text: string): boolean {
    if (this.writableLength > 0 || !this.writable) return this.write(text, "utf8");
    const bytes = Buffer.from(text, "utf8");
    const count = loadLibc().send(this.fd, bytes, bytes.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count > 0) this.sentBytes += count;
    if (count < bytes.length) return this.write(count > 0 ? bytes.subarray(count) : bytes);
    this.#idle?.refresh();
    return true;
  }

  #beginStream(): void {
    const plain = this.#plain;
    this.#plain = null;
    plain?.handOver();
  }

  override _read(): void {
    if (this.#hungUp && !this.#ended) setImmediate(() => this.#receive());
    else this.#want(this.#interest | EPOLLIN);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#send({ bytes: chunk, done });
  }

  override _writev(chunks: { chunk: Buffer; encoding: BufferEncoding }[], done: Done): void {
    this.#send({ bytes: Buffer.concat(chunks.map(({ chunk }) => chunk)), done });
  }

  override _final(done: Done): void {
    loadLibc().shutdown(this.fd, SHUT_WR);
    done();
  }

  override _destroy(error: Error | null, done: Done): void {
    clearTimeout(this.#idle);
    this.#watch.stop();
    closeSync(this.fd);
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.done(error ?? new Fault("the connection was closed"));
    done(error);
  }

  #ready(events: number): void {
    if ((events & EPOLLOUT) !== 0 && this.#pending !== undefined) {
      const pending = this.#pending;
      this.#pending = undefined;
      this.#want(this.#interest & ~EPOLLOUT);
      this.#send(pending);
    }
    if (this.destroyed) return;
    if ((events & EPOLLIN) !== 0 && (this.#interest & EPOLLIN) !== 0) this.#receive();
    else if ((events & (EPOLLHUP | EPOLLERR)) !== 0) this.#hangUp();
  }

  /** A hang-up is reported for as long as it lasts, asked for or not: stop listening and read the rest when wanted. */
  #hangUp(): void {
    this.#hungUp = true;
    this.#watch.stop();
    const pending = this.#pending;
    this.#pending = undefined;
    pending?.done(new Fault("the peer closed the connection"));
    if (this.destroyed) return;
    if ((this.#interest & EPOLLIN) !== 0) this.#receive();
  }

  #receive(): void {
    if (this.destroyed || this.#ended) return;
    const read = this.#read(this.fd);
    switch (read.kind) {
      case "later":
        return;
      case "end":
        this.#beginStream();
        this.#ended = true;
        this.#want(this.#interest & ~EPOLLIN);
        this.push(null);
        return;
      case "failed":
        this.destroy(new Fault(`reading the connection failed: ${nameErrno(read.errno)}`));
        return;
      case "descriptors":
        this.destroy(new Denied("caller_writer_changed", "descriptors were passed over the connection"));
        return;
      case "bytes":
        this.#deliver(read.bytes, read.writer);
    }
  }

  #deliver(bytes: Buffer, writer: number): void {
    if (writer === 0) {
      this.destroy(new Denied("caller_writer_unknown", "the kernel did not say who wrote these bytes"));
      return;
    }
    if (writer !== this.#peer) {
      const message = `process ${this.#peer} connected and process ${writer} wrote`;
      this.destroy(new Denied("caller_writer_changed", message));
      return;
    }
    this.#idle?.refresh();
    if (this.#plain?.take(bytes) === true) return;
    this.#beginStream();
    if (!this.push(bytes)) this.#want(this.#interest & ~EPOLLIN);
  }

  #send(pending: Pending): void {
    const libc = loadLibc();
    let rest = pending.bytes;
    while (rest.length > 0) {
      const count = libc.send(this.fd, rest, rest.length, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) {
        rest = rest.subarray(count);
        this.sentBytes += count;
        continue;
      }
      const errno = lastErrno();
      if (errno === errnos["EINTR"]) continue;
      if (errno !== errnos["EAGAIN"]) {
        pending.done(new Fault(`writing to the connection failed: ${nameErrno(errno)}`));
        return;
      }
      this.#pending = { bytes: rest, done: pending.done };
      this.#want(this.#interest | EPOLLOUT);
      return;
    }
    this.#idle?.refresh();
    pending.done();
  }

  #want(events: number): void {
    if (events === this.#interest || this.destroyed) return;
    this.#interest = events;
    if (!this.#hungUp) this.#watch.change({ events, holds: true });
  }
}
