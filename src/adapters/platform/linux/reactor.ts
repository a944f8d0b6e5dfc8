import { closeSync } from "node:fs";
import koffi from "koffi";
import { Fault } from "../../../kernel/failure.ts";
import { lastErrno, loadLibc, nameErrno, uninterrupted } from "./libc.ts";

/**
 * Readiness of descriptors that Node cannot poll (pidfds, perf events, sockets read with recvmsg). All of them stand in
 * one epoll set, and the one epoll descriptor is polled by the loop's own uv_poll: no thread, no timer, no polling.
 */
export interface Reactor {
  /** Level-triggered: `ready` is called again until the cause is gone or the interest is dropped. */
  watch(fd: number, interest: Interest, ready: (events: number) => void): Watch;
  close(): void;
}

export interface Watch {
  change(interest: Interest): void;
  /** Must come before the descriptor is closed. */
  stop(): void;
}

export interface Interest {
  readonly events: number;
  /** Whether this watch keeps the process running. */
  readonly holds: boolean;
}

export const EPOLLIN = 0x1;
export const EPOLLOUT = 0x4;
export const EPOLLERR = 0x8;
export const EPOLLHUP = 0x10;

const EPOLL_CLOEXEC = 0o2000000;
const ADD = 1;
const DELETE = 2;
const MODIFY = 3;
const BATCH = 128;
// struct epoll_event is packed on x86-64 alone.
const EVENT_SIZE = process.arch === "x64" ? 12 : 16;
const DATA_OFFSET = EVENT_SIZE - 8;

export function createReactor(): Reactor {
  const libc = loadLibc();
  const epoll = libc.epollCreate(EPOLL_CLOEXEC);
  if (epoll < 0) throw new Fault(`epoll_create1 failed: ${nameErrno(lastErrno())}`);
  const events = Buffer.alloc(BATCH * EVENT_SIZE);
  const event = Buffer.alloc(EVENT_SIZE);
  const watches = new Map<number, (events: number) => void>();
  let nextToken = 1;
  let holding = 0;
  let scheduled = false;
  let closed = false;

  // The callback runs outside any JavaScript frame, where promises would not be drained: leave it at once. The check
  // phase follows in the same turn of the loop.
  const poll = koffi.node.poll(epoll, { readable: true }, () => {
    if (scheduled || closed) return;
    scheduled = true;
    setImmediate(drain);
  });
  poll.unref();
  // The loop turns while Node tears itself down; nothing of ours may be called then.
  process.once("exit", close);

  return { watch, close };

  function watch(fd: number, interest: Interest, ready: (events: number) => void): Watch {
    if (closed) throw new Fault("the reactor is closed");
    const token = nextToken++;
    let holds = false;
    let stopped = false;
    control(ADD, fd, interest.events, token);
    watches.set(token, ready);
    hold(interest.holds);
    return {
      change(next) {
        if (stopped || closed) return;
        control(MODIFY, fd, next.events, token);
        hold(next.holds);
      },
      stop() {
        if (stopped) return;
        stopped = true;
        hold(false);
        watches.delete(token);
        if (!closed) control(DELETE, fd, 0, token);
      },
    };

    function hold(next: boolean): void {
      if (next === holds) return;
      holds = next;
      holding += next ? 1 : -1;
      if (closed) return;
      if (holding === 0) poll.unref();
      else poll.ref();
    }
  }

  function control(operation: number, fd: number, wanted: number, token: number): void {
    event.writeUInt32LE(wanted, 0);
    event.writeDoubleLE(token, DATA_OFFSET);
    if (libc.epollControl(epoll, operation, fd, event) < 0) {
      throw new Fault(`epoll_ctl failed: ${nameErrno(lastErrno())}`);
    }
  }

  function drain(): void {
    scheduled = false;
    if (closed) return;
    const count = uninterrupted(() => libc.epollWait(epoll, events, BATCH, 0));
    // Copied first: a listener may watch or stop others, and a stopped one must not be called from this batch.
    const batch: [number, number][] = [];
    for (let index = 0; index < count; index++) {
      const at = index * EVENT_SIZE;
      batch.push([events.readDoubleLE(at + DATA_OFFSET), events.readUInt32LE(at)]);
    }
    for (const [token, ready] of batch) watches.get(token)?.(ready);
  }

  function close(): void {
    if (closed) return;
    closed = true;
    process.removeListener("exit", close);
    watches.clear();
    poll.close();
    closeSync(epoll);
  }
}
