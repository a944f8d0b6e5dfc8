import { readdirSync, readFileSync, readlinkSync } from "node:fs";

/** Who holds the other end of a connection: of a box for the record alone, of a proxy so that nobody else is served. */
export interface BoxProcess {
  readonly pid: number;
  readonly executable: string;
  readonly arguments: readonly string[];
}

const ARGUMENT_CHARACTERS = 256;

/**
 * `first` is any process of the box, as this side numbers it. The client's end is meant by its address as well: from another one
 * anybody may use the same port.
 */
export function findHolder(first: number, address: string, from: number, to: number): BoxProcess | null {
  const inode = spellingsOf(address)
    .map(([table, spelled]) => findInode(`/proc/${first}/net/${table}`, `${spelled}${spellPort(from)}`, spellPort(to)))
    .find((found) => found !== null);
  if (inode === undefined) return null;
  for (const pid of [first, ...descendants(first)]) if (holds(pid, `socket:[${inode}]`)) return describe(pid);
  return null;
}

function findInode(table: string, from: string, to: string): string | null {
  for (const line of readLines(table)) {
    const [, local = "", remote = "", , , , , , , inode = ""] = line.trim().split(/\s+/);
    if (local === from && remote.endsWith(to) && inode !== "0") return inode;
  }
  return null;
}

function spellPort(port: number): string {
  return `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** As the kernel lists it. An IPv4 address may be that of a socket for IPv6, at either end. */
function spellingsOf(address: string): readonly (readonly [table: string, spelled: string])[] {
  const [bare = ""] = address.split("%");
  const url = URL.parse(`http://[${bare.includes(":") ? bare : `::ffff:${bare}`}]`);
  if (url === null) return [];
  const [front = "", back = ""] = url.hostname.slice(1, -1).split("::");
  const [head, tail] = [front, back].map((words) => (words === "" ? [] : words.split(":"))) as [string[], string[]];
  const gap = Array.from({ length: 8 - head.length - tail.length }, () => "0");
  const bytes = Buffer.from([...head, ...gap, ...tail].map((word) => word.padStart(4, "0")).join(""), "hex");
  // Words of four bytes, as this machine counts: both that have boxes begin with the lowest.
  const spelled = bytes.swap32().toString("hex").toUpperCase();
  return spelled.startsWith(MAPPED)
    ? [
        ["tcp", spelled.slice(MAPPED.length)],
        ["tcp6", spelled],
      ]
    : [["tcp6", spelled]];
}

const MAPPED = "0000000000000000FFFF0000";

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
