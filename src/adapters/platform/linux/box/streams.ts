import { fstatSync } from "node:fs";
import { loadLibc } from "../libc.ts";
import { unavailable } from "./unavailable.ts";

const SOL_SOCKET = 1;
const SO_TYPE = 3;
const SO_DOMAIN = 39;
const AF_UNIX = 1;
const SOCK_STREAM = 1;
const STREAMS = ["standard input", "standard output", "standard error"];

/**
 * What the command is given as its three streams comes from outside, and no wall of the box stands between. A folder leads to all
 * others; a socket of another network can be connected anew from inside, and one for datagrams sends to whomever it likes.
 */
export function requirePlainStreams(): void {
  for (const [fd, name] of STREAMS.entries()) {
    const entry = statOf(fd);
    const what = entry?.isDirectory() ? "a folder" : entry?.isSocket() && !isPipe(fd) ? "a network socket" : null;
    if (what !== null)
      throw unavailable(`its ${name} is ${what}, which leads out of every box`, "give it a file, a pipe or a terminal");
  }
}

/** Node makes the pipes to its children as these. */
function isPipe(fd: number): boolean {
  return optionOf(fd, SO_DOMAIN) === AF_UNIX && optionOf(fd, SO_TYPE) === SOCK_STREAM;
}

function optionOf(fd: number, option: number): number {
  const value = Buffer.alloc(4);
  const length = Buffer.from([4, 0, 0, 0]);
  return loadLibc().getsockopt(fd, SOL_SOCKET, option, value, length) < 0 ? -1 : value.readInt32LE();
}

function statOf(fd: number): ReturnType<typeof fstatSync> | null {
  try {
    return fstatSync(fd);
  } catch {
    return null;
  }
}
