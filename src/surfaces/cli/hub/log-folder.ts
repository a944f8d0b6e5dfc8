import { createHash } from "node:crypto";
import { lstatSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { isAlive } from "../../../vault/files/alive.ts";

const NAME = /^gw-hub-(\d{1,10})-([0-9a-f]{16})-/;

/** A folder of our own for copies of logs. What a process that was killed left there is removed first: it can be as large as all logs. */
export function makeLogFolder(): string {
  const [folder, place] = [tmpdir(), placeOfProcesses()];
  removeLeft(folder, place);
  return mkdtempSync(join(folder, `gw-hub-${process.pid}-${place}-`));
}

/** Only this user's, and only of processes that would be seen here if they lived. */
function removeLeft(folder: string, place: string): void {
  for (const name of namesIn(folder)) {
    const [, pid, where] = NAME.exec(name) ?? [];
    if (pid === undefined || where !== place || isAlive(Number(pid))) continue;
    const path = join(folder, name);
    try {
      const found = lstatSync(path);
      if (found.isDirectory() && found.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // Somebody else removes it too, or it cannot be removed: nobody waits for that.
    }
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** A number is a process of one machine, and of one container on it: the folder may be shared with others. */
function placeOfProcesses(): string {
  return createHash("sha256").update(`${hostname()} ${namespace()}`).digest("hex").slice(0, 16);
}

function namespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // There is one only where the system has such.
    return "";
  }
}
