import { chmodSync, chownSync, lstatSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { Denied } from "../../kernel/failure.ts";

/** A socket and the group that may open it beside the gateway's own user. */
export interface SocketAccess {
  readonly path: string;
  readonly group: number | null;
}

const STICKY = 0o1000;

/**
 * Clears the way for a socket. Only what a killed gateway of this user left is removed, and only where nobody else can put
 * something in its place; the log's lock already says that no other gateway works in this home.
 */
export function clearSocketPath(access: SocketAccess): void {
  requireSocketPath(access);
  rmSync(access.path, { force: true });
}

/** Where a socket can be made, and only by us. */
export function requireSocketPath({ path, group }: SocketAccess): void {
  const own = process.geteuid?.() ?? -1;
  const folder = lstatSync(dirname(path), { throwIfNoEntry: false });
  if (folder === undefined || !folder.isDirectory()) {
    throw new Denied(
      "socket_path_unsafe",
      `There is no folder ${dirname(path)} for the socket. Make it: install -d -o ${own} -m 755 ${dirname(path)}`,
    );
  }
  const othersWrite = (folder.mode & 0o022) !== 0 && (folder.mode & STICKY) === 0;
  if ((folder.uid !== own && folder.uid !== 0) || othersWrite) {
    throw new Denied(
      "socket_path_unsafe",
      `Others can put files into ${dirname(path)} (owner ${folder.uid}, mode ${(folder.mode & 0o7777).toString(8)}), where the socket belongs. Mend it: chown ${own} ${dirname(path)} && chmod 755 ${dirname(path)}`,
    );
  }
  requireMember(path, group);
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isSocket() || there.uid !== own) {
    throw new Denied(
      "socket_planted",
      `${path} is there already and is no socket of this gateway (owner ${there.uid}). Find out who made it, then remove it.`,
    );
  }
}

/** Only a member of a group may give a file to it. */
function requireMember(path: string, group: number | null): void {
  const groups = process.getgroups?.() ?? [];
  if (group === null || process.geteuid?.() === 0 || groups.includes(group) || process.getegid?.() === group) return;
  throw new Denied(
    "socket_path_unsafe",
    `The gateway's user is not in group ${group} and cannot open ${path} to it. Add it (usermod -aG), then start again.`,
  );
}

/** Before anybody can connect: the group first, since a mode of 660 with the wrong group would let the wrong ones in. */
export function openTo({ path, group }: SocketAccess): void {
  if (group !== null) chownSync(path, -1, group);
  chmodSync(path, modeOf({ group }));
}

export function modeOf({ group }: Pick<SocketAccess, "group">): number {
  return group === null ? 0o600 : 0o660;
}
