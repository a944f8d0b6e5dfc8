import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Who inside holds the other end of a connection. A claim for the record: nothing is decided by it. */
export interface BoxProcess {
  readonly pid: number;
  readonly executable: string;
  readonly arguments: readonly string[];
}

const ARGUMENT_CHARACTERS = 256;

/** `first` is any process of the box, as this side numbers it; the ports are of the connection, seen from the client. */
export function findHolder(first: number, from: number, to: number): BoxProcess | null {
  const inode = ["tcp", "tcp6"]
    .map((table) => findInode(`/proc/${first}/net/${table}`, from, to))
    .find((found) => found !== null);
  if (inode === undefined) return null;
  for (const pid of [first, ...descendants(first)]) if (holds(pid, `socket:[${inode}]`)) return describe(pid);
  return null;
}

function findInode(table: string, from: number, to: number): string | null {
  const port = (number: number): string => `:${number.toString(16).toUpperCase().padStart(4, "0")}`;
  for (const line of readLines(table)) {
    const [, local = "", remote = "", , , , , , , inode = ""] = line.trim().split(/\s+/);
    if (local.endsWith(port(from)) && remote.endsWith(port(to)) && inode !== "0") return inode;
  }
  return null;
}

function holds(pid: number, name: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === name);
  } catch {
    return false;
  }
}

function describe(pid: number): BoxProcess | null {
  const executable = linkOf(`/proc/${pid}/exe`);
  const [line = ""] = readLines(`/proc/${pid}/cmdline`);
  if (executable === null) return null;
  // The name that it was called by and no more: people put tokens on command lines.
  const [called = ""] = line.split("\0", 1);
  return { pid, executable, arguments: [called.slice(0, ARGUMENT_CHARACTERS)] };
}

export function descendants(root: number): readonly number[] {
  const found: number[] = [];
  const left = [root];
  for (let pid = left.pop(); pid !== undefined; pid = left.pop()) {
    const children = childrenOf(pid);
    found.push(...children);
    left.push(...children);
  }
  return found;
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readLines(`/proc/${pid}/task/${thread}/children`)
        .flatMap((line) => line.split(" "))
        .filter((child) => child !== "")
        .map(Number),
    );
  } catch {
    return [];
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch {
    return [];
  }
}
