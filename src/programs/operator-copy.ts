import { createHash } from "node:crypto";
import { join } from "node:path";
import { systemRandom, systemSleep } from "../adapters/platform/system.ts";
import { Denied } from "../kernel/failure.ts";
import { Unreachable } from "../surfaces/client/connection.ts";
import type { Place } from "../surfaces/place/place.ts";
import { stateFolder } from "./state-folder.ts";

/** Whether the gateway is one for all users and this one does not own it: then its home is closed to them. */
export function isElsewhere({ machine, owner }: Place): boolean {
  return machine !== null && owner !== process.geteuid?.();
}

export async function copyHome(found: Place): Promise<string> {
  const home = join(stateFolder(), "homes", createHash("sha256").update(found.home).digest("hex").slice(0, 16));
  await refreshCopy(found, home);
  return home;
}

export async function refreshCopy({ operator }: Place, copy: string): Promise<void> {
  await (await import("../surfaces/client/mirror.ts")).refreshMirror(operator, copy, systemRandom, systemSleep);
}

/** For somebody who may be no operator, or while nothing runs: then the gateway alone can be asked. */
export async function copyFor(found: Place): Promise<string | null> {
  try {
    return await copyHome(found);
  } catch (error) {
    if (error instanceof Denied || error instanceof Unreachable) return null;
    throw error;
  }
}

export function notHere({ machine, owner }: Place, what: string): Denied {
  const user = machine?.userWord ?? `'#${owner}'`;
  const start = what === "up" ? " With systemd: systemctl start gw" : "";
  return new Denied(
    "home_not_here",
    `${machine?.home ?? "The home"} belongs to ${user}, and this needs the home itself. Run: sudo -u ${user} gw ${what} …${start}`,
  );
}
