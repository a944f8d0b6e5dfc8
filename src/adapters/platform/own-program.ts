import { statSync } from "node:fs";
import type { Socket } from "node:net";
import { Denied } from "../../kernel/failure.ts";
import { descriptorOf } from "./descriptor.ts";
import { readCredentials } from "./linux/peer.ts";

/**
 * For a socket between programs of one user: the process that connected is this user's and runs the very file that we run. It has
 * to be open to a look for that moment. On macOS the modes of the folder and the socket are all there is.
 */
export function isOwnProgram(socket: Socket): boolean {
  if (process.platform !== "linux") return true;
  try {
    const { pid, uid } = readCredentials(descriptorOf(socket));
    if (uid !== process.geteuid?.()) return false;
    const [theirs, ours] = [`/proc/${pid}/exe`, "/proc/self/exe"].map((path) => statSync(path, { bigint: true }));
    return theirs !== undefined && theirs.ino === ours?.ino && theirs.dev === ours.dev;
  } catch (error) {
    if (error instanceof Denied || (error instanceof Error && "code" in error)) return false;
    throw error;
  }
}

/** Connects in a way that `isOwnProgram` can see; nothing secret may be in memory yet. */
export async function showingProgram<Result>(connect: () => Promise<Result>): Promise<Result> {
  if (process.platform !== "linux") return await connect();
  const { whileInspectable } = await import("./linux/harden.ts");
  return await whileInspectable(connect);
}
