import type { Socket } from "node:net";
import { Denied } from "../../kernel/failure.ts";
import { descriptorOf } from "./descriptor.ts";
import { readCredentials } from "./linux/peer.ts";

/**
 * For clients: the process that listens must run as the gateway's user, or nothing is said to it. Linux notes who called
 * listen; on macOS the modes of the folder and the socket are all there is.
 */
export function requireServerOf(owner: number): (socket: Socket) => void {
  return (socket) => {
    if (process.platform !== "linux") return;
    const { uid } = readCredentials(descriptorOf(socket));
    if (uid === owner) return;
    throw new Denied(
      "server_not_expected",
      `A process of user ${uid} answers there, and the gateway's user is ${owner}. Nothing was sent to it.`,
    );
  };
}
