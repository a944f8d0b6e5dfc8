import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { privateFiles, writeKnownHosts } from "../../../conventions/ssh/client-options.ts";
import { type SshPublicKey, writeSshPublicLine } from "../../../kernel/ssh-key.ts";

/** A folder of one connection, closed to everybody else: the agent's socket, the pinned host key, the public key. */
export interface PrivateFolder {
  readonly path: string;
  readonly agentSocket: string;
  remove(): void;
}

/** A socket's path may have 107 bytes; a folder that would leave no room is made in the system's temporary one. */
const SOCKET_PATH_BYTES_MAX = 107;

export function makePrivateFolder(base: string, hostKey: SshPublicKey, userKey: SshPublicKey): PrivateFolder {
  const room = Buffer.byteLength(join(base, "ssh-XXXXXX", privateFiles.agent));
  const path = mkdtempSync(join(room <= SOCKET_PATH_BYTES_MAX ? base : tmpdir(), "ssh-"));
  const remove = () => rmSync(path, { recursive: true, force: true });
  const options = { mode: 0o600, flag: "wx" } as const;
  try {
    writeFileSync(join(path, privateFiles.knownHosts), writeKnownHosts(writeSshPublicLine(hostKey)), options);
    writeFileSync(join(path, privateFiles.publicKey), `${writeSshPublicLine(userKey)}\n`, options);
  } catch (error) {
    remove();
    throw error;
  }
  return { path, agentSocket: join(path, privateFiles.agent), remove };
}
