import type { Socket } from "node:net";
import { createGroupMembers } from "../../adapters/platform/group-members.ts";
import { findOpenPath, type OpenPath } from "../../adapters/platform/open-path.ts";
import { groupsOf, peerUid } from "../../adapters/platform/users.ts";
import type { Posture } from "../../gateway/posture.ts";
import type { OperatorUsers } from "./operator-users.ts";
import type { Settings } from "./settings.ts";

/**
 * Which mode this is, found and never claimed: who may open the sockets, who can write to the home, who decides, and who calls. A
 * caller that runs as the gateway or as an operator, or could, is no other user, and its cards say guard-rail.
 */
export interface ModeFinder {
  seeOperator(socket: Socket, keyId: string): void;
  mode(): Posture["mode"];
  /** What lets others write to the home, and so makes it guard-rail; null where nothing does. */
  openFolder(): OpenPath | null;
  mayDecide: NonNullable<Posture["mayDecide"]>;
  isAgentUser(uid: number): boolean;
}

const ROOT = 0;

export function createModeFinder(settings: Settings, operators: OperatorUsers): ModeFinder {
  const { home, agentSocket, operatorSocket } = settings;
  const own = process.geteuid?.() ?? ROOT;
  const { group } = operatorSocket;
  const members = group === null ? () => new Set<number>() : createGroupMembers(group);
  const isAgentUser = (uid: number): boolean =>
    uid !== own && uid !== ROOT && !operators.has(uid) && !members().has(uid);
  return {
    isAgentUser,
    seeOperator(socket, keyId) {
      const uid = peerUid(socket);
      if (uid !== null) operators.see(uid, keyId);
    },
    openFolder: () => findOpenPath(home),
    mode() {
      const apart = agentSocket.group !== null && group !== agentSocket.group && !operators.has(own);
      return apart && findOpenPath(home) === null ? "dedicated" : "guard-rail";
    },
    mayDecide: ({ uid, pid }) => !isAgentUser(uid) || (group !== null && groupsOf(pid).includes(group)),
  };
}
