import { Denied } from "../../kernel/failure.ts";
import { readSshPublicLine, writeSshPublicLine } from "../../kernel/ssh-key.ts";

/** `type base64` of a host key line; a comment is dropped, a host name in front or an unknown type is refused. */
export function readHostKey(line: string): string {
  const key = readSshPublicLine(line);
  if (key !== undefined) return writeSshPublicLine(key);
  throw new Denied(
    "credential_invalid",
    "A host key is its type and base64, as in known_hosts without the host name: ssh-ed25519 AAAA… Ask the host with ssh-keyscan -t ed25519 HOST, and compare the answer over another way.",
  );
}
