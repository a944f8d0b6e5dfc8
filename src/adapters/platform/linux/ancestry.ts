import { closeSync } from "node:fs";
import type { Ancestor } from "../../../conventions/caller/evidence.ts";
import { loadLibc } from "./libc.ts";
import { isAlive } from "./peer.ts";
import { openProcess, parseStat, readLink, readProc } from "./proc.ts";

/** Deeper chains are cut: what is further away than this explains nothing to a person. */
const DEPTH = 32;
const TRIES = 3;
const STAT_LIMIT = 8_192;

interface Link {
  readonly pid: number;
  readonly pidfd: number;
  readonly directory: number;
}

/**
 * The parents of a process, nearest first. Parents die and pids are reused, so each one is held by a pidfd, the whole
 * chain is walked again, and the answer counts only if both walks agree and everybody is still alive. Empty otherwise.
 */
export function walkAncestry(pid: number): readonly Ancestor[] {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const found = walkOnce(pid);
    if (found !== undefined) return found;
  }
  return [];
}

function walkOnce(pid: number): readonly Ancestor[] | undefined {
  const links: Link[] = [];
  try {
    const first = climb(pid, links);
    const parents = links.map(({ directory }) => statIn(directory)?.parent);
    const agreed = links.every(({ pidfd }, index) => {
      const next = links[index + 1];
      return isAlive(pidfd) && (next === undefined || parents[index] === next.pid);
    });
    return agreed ? first : undefined;
  } finally {
    for (const { pidfd, directory } of links) {
      closeSync(pidfd);
      closeSync(directory);
    }
  }
}

/** Fills `links` with the process and its parents, each held before its own parent is read. */
function climb(pid: number, links: Link[]): readonly Ancestor[] | undefined {
  const ancestors: Ancestor[] = [];
  for (let next = pid; next > 0 && links.length <= DEPTH; ) {
    const link = holdLink(next);
    if (link === undefined) return undefined;
    links.push(link);
    const stat = statIn(link.directory);
    if (stat === undefined) return undefined;
    if (links.length > 1) {
      ancestors.push({ pid: next, startTime: stat.startTime, path: readLink(link.directory, "exe") });
    }
    next = stat.parent;
  }
  return ancestors;
}

function holdLink(pid: number): Link | undefined {
  const pidfd = loadLibc().pidfdOpen(pid, 0);
  if (pidfd < 0) return undefined;
  try {
    return { pid, pidfd, directory: openProcess(pid) };
  } catch {
    closeSync(pidfd);
    return undefined;
  }
}

function statIn(directory: number): ReturnType<typeof parseStat> {
  return parseStat(readProc(directory, "stat", STAT_LIMIT) ?? Buffer.alloc(0));
}
