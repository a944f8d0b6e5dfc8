import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { Secret } from "../../kernel/secret.ts";
import { readKeyFile, readSystemdCredential, SYSTEMD_CREDENTIAL, writeKeyFile } from "../../vault/files/key-file.ts";

/** What unlocks this gateway without a person: a key file that was named, or the credential that systemd hands over. */
export interface KeyFileWatch {
  /** Null where there is none. Throws `Denied`, and remembers why. */
  read(vaultId: string): Secret | null;
  /** Told when the key was refused after it was read. */
  refused(why: Denied): void;
  /** Writes the file again where it holds another key; a credential of systemd is for root to write. */
  renew(serviceKey: Secret, vaultId: string): void;
  status(signed: boolean): JsonValue;
}

export function watchKeyFile(path: string | undefined, credentials: string | undefined, random: Random): KeyFileWatch {
  const systemd = path === undefined && credentials !== undefined && existsSync(join(credentials, SYSTEMD_CREDENTIAL));
  const kind = path !== undefined ? "key file" : systemd ? "systemd credential" : null;
  const read = (vaultId: string): Secret | null => {
    if (path !== undefined) return readKeyFile(path, vaultId);
    return systemd ? readSystemdCredential(credentials, vaultId) : null;
  };
  let trouble: Denied | null = null;
  const remember = (error: unknown): void => {
    trouble = error instanceof Denied ? error : trouble;
  };
  return {
    read(vaultId) {
      try {
        return read(vaultId);
      } catch (error) {
        remember(error);
        throw error;
      }
    },
    refused: remember,
    renew(serviceKey, vaultId) {
      if (kind === null) return;
      try {
        using held = read(vaultId);
        if (held?.equals(serviceKey) === true) {
          trouble = null;
          return;
        }
        if (path !== undefined) writeKeyFile(path, vaultId, serviceKey, random);
        trouble = systemd ? stale() : null;
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        trouble = error;
      }
    },
    status: (signed) =>
      kind === null
        ? null
        : { kind, signed, trouble: trouble === null ? null : { code: trouble.code, message: trouble.message } },
  };
}

function stale(): Denied {
  return new Denied(
    "service_key_wrong",
    "The systemd credential holds a key that was replaced. Write it again: gw unlock --write-key-file FILE, then systemd-creds encrypt.",
  );
}
