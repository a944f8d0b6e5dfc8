import type { Socket } from "node:net";
import { groupsOf, peerUid } from "../../adapters/platform/users.ts";
import type { Posture } from "../../gateway/core.ts";
import type { Settings } from "./settings.ts";

/**
 * Which mode this is, found and never claimed: who may open the sockets, who decides, and who calls. A caller that runs as
 * the gateway or as an operator, or could, is no other user, and its cards say guard-rail.
 */
export interface ModeFinder {
  seeOperator(socket: Socket): void;
  mode(): Posture["mode"];
  mayDecide: NonNullable<Posture["mayDecide"]>;
  isAgentUser(uid: number): boolean;
}

const ROOT = 0;

export function createModeFinder({ agentSocket, operatorSocket }: Settings): ModeFinder {
  const own = process.geteuid?.() ?? ROOT;
  const operators = new Set<number>();
  const isAgentUser = (uid: number): boolean => uid !== own && uid !== ROOT && !operators.has(uid);
  return {
    isAgentUser,
    seeOperator(socket) {
      const uid = peerUid(socket);
      if (uid !== null) operators.add(uid);
    },
    mode: () =>
      agentSocket.group !== null && operatorSocket.group !== agentSocket.group && !operators.has(own)
        ? "dedicated"
        : "guard-rail",
    mayDecide: ({ uid, pid }) =>
      !isAgentUser(uid) || (operatorSocket.group !== null && groupsOf(pid).includes(operatorSocket.group)),
  };
}
