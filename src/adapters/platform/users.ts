import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { Denied } from "../../kernel/failure.ts";
import { descriptorOf } from "./descriptor.ts";
import { readCredentials } from "./linux/peer.ts";

/** The user behind a connection as the kernel noted it; null where it does not say. */
export function peerUid(socket: Socket): number | null {
  if (process.platform !== "linux") return null;
  try {
    return readCredentials(descriptorOf(socket)).uid;
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

/** The groups of a process, which everybody may see; none where it is gone. */
export function groupsOf(pid: number): readonly number[] {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const words = [/^Gid:(.*)$/m, /^Groups:(.*)$/m].map((line) => line.exec(status)?.[1] ?? "");
    return words.join(" ").split(/\s+/).filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
