import type { Server, Socket } from "node:net";
import { descriptorOf } from "./descriptor.ts";

/** What the kernel says about the queue before a local server, and about who comes out of it. */
export interface SocketPeers {
  /** Names the process at the other end of a local socket, for counting; 0 where the platform does not say. */
  nameOf(socket: Socket): number;
  /**
   * Takes up to `most` connections that wait before a server that listens, and closes at once those of processes that are not
   * welcome. Node by itself takes one a turn of its loop: whoever stands behind a crowd would wait as many turns.
   */
  takeWaiting(server: Server, most: number, welcomes: (pid: number) => boolean, take: (socket: Socket) => void): void;
}

export async function createSocketPeers(platform: NodeJS.Platform = process.platform): Promise<SocketPeers> {
  if (platform !== "linux") return { nameOf: () => 0, takeWaiting: () => undefined };
  const [{ readCredentials }, { takeWaiting }] = await Promise.all([
    import("./linux/peer.ts"),
    import("./linux/waiting.ts"),
  ]);
  return {
    nameOf(socket) {
      try {
        return readCredentials(descriptorOf(socket)).pid;
      } catch {
        return 0;
      }
    },
    takeWaiting: (server, ...asked) => takeWaiting(descriptorOf(server), ...asked),
  };
}
