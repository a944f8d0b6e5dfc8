import type { Socket } from "node:net";
import { descriptorOf } from "./descriptor.ts";

/** Names the process at the other end of a local socket, for counting; 0 where the platform does not say. */
export async function createPeerNamer(
  platform: NodeJS.Platform = process.platform,
): Promise<(socket: Socket) => number> {
  if (platform !== "linux") return () => 0;
  const { readCredentials } = await import("./linux/peer.ts");
  return (socket) => {
    try {
      return readCredentials(descriptorOf(socket)).pid;
    } catch {
      return 0;
    }
  };
}
