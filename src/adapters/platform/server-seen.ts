import { closeSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import type { ServerSeen } from "../../conventions/caller/server.ts";
import { Denied } from "../../kernel/failure.ts";
import { descriptorOf } from "./descriptor.ts";

/** Who listens at the other end of a connected local socket, as the kernel noted it when it began to listen. */
export async function seeServer(socket: Socket, platform: NodeJS.Platform = process.platform): Promise<ServerSeen> {
  if (platform !== "linux") {
    throw new Denied(
      "platform_unsupported",
      "Only Linux says here who listens on a socket; gw up starts and unlocks in one.",
    );
  }
  const { isAlive, readPeer } = await import("./linux/peer.ts");
  const { pid, uid, pidfd } = readPeer(descriptorOf(socket));
  try {
    const image = imageOf(pid);
    // Alive now: what was read is of this process and not of a later one with its number.
    if (!isAlive(pidfd)) throw new Denied("server_not_proven", `Process ${pid} went away while it was looked at.`);
    return { pid, uid, image };
  } finally {
    closeSync(pidfd);
  }
}

function imageOf(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return null;
  }
}
