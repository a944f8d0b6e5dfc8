import { closeSync, constants, fstatSync, openSync, readdirSync, readSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { readPack } from "../../conventions/action/read.ts";
import type { Random } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HomeCustody, SignedChange } from "../../surfaces/operator/custody.ts";
import type { Login } from "../../surfaces/operator/logins.ts";
import { anchorOf, checkAnchor } from "../../vault/anchor.ts";
import { replaceFile } from "../../vault/files/atomic-write.ts";
import { type HomeChange, POLICY_NAME, VAULT_NAME, type VaultHome } from "../../vault/files/home.ts";
import { makeFolder } from "../../vault/files/make-folder.ts";
import { readPrivateFile } from "../../vault/files/private-file.ts";
import { isPackTrusted, type Policy } from "../../vault/policy/policy.ts";
import { parsePolicy } from "../../vault/policy/verify.ts";
import type { Vault } from "../../vault/vault.ts";
import { parseVault } from "../../vault/verify.ts";
import { readPackFile } from "./packs.ts";
import type { Settings } from "./settings.ts";

const LOG_FILE = /^(?:[a-z]{1,32}\/)?[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;
const PACK_FILE = /^[a-z][a-z0-9-]{0,63}\.yaml$/;

/** Serves the home's signed and sealed files, and takes changes of them that the operator who is logged in signed. */
export function createCustody(
  settings: Settings,
  home: VaultHome,
  random: Random,
  reload: () => Promise<void>,
): HomeCustody {
  const text = (name: string, most: number): string =>
    readPrivateFile(join(settings.home, name), most)?.toString("utf8") ?? "";
  return {
    read: () => ({
      vault: text(VAULT_NAME, defaults.vaultFileBytes),
      policy: text(POLICY_NAME, defaults.policyFileBytes),
      packs: list(settings.packsFolder)
        .filter((name) => PACK_FILE.test(name))
        .flatMap((name) => {
          const bytes = readPackFile(join(settings.packsFolder, name));
          if (bytes instanceof Denied) return [];
          return [{ pack: name.slice(0, -".yaml".length), bytes: bytes.toString("base64") }];
        }),
    }),
    async change(change, login) {
      const made = await home.change((current) => check(change, current, home.readPolicy(current), login));
      storePacks(settings.packsFolder, change, made, random);
      await reload();
    },
    logFiles: () => {
      const folder = settings.auditFolder;
      // What was moved to an archive since the folder was read is not there any more.
      const find = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false });
      const names = list(folder).flatMap((name) =>
        find(name)?.isDirectory() === true ? list(join(folder, name)).map((one) => `${name}/${one}`) : [name],
      );
      return names
        .filter((name) => LOG_FILE.test(name) && !name.endsWith(".lock") && !name.endsWith(".new"))
        .flatMap((name) => {
          const found = find(name);
          return found === undefined ? [] : [{ name, size: found.size }];
        });
    },
    readLog(name, from) {
      if (!LOG_FILE.test(name)) throw new Denied("not_found", "There is no such file in the log.");
      return readPart(join(settings.auditFolder, name), from);
    },
  };
}

interface Checked extends HomeChange {
  readonly before: Policy;
}

/** The next of what is in force, and signed by the operator who brings it: nobody carries in another's change. */
function check(change: SignedChange, current: Vault, before: Policy, login: Login): Checked {
  const vault = change.vault === null ? null : parseVault(change.vault);
  if (vault !== null) {
    // Somebody who was slower than another did not put anything back: told first.
    if (vault.previous !== current.manifestHash) throw moved();
    checkAnchor(anchorOf(current), vault);
  }
  const policy = change.policy === null ? null : parsePolicy(change.policy, vault ?? current);
  if (policy !== null && policy.version !== before.version + 1) throw moved();
  const signers = [vault?.signedBy, policy?.signedBy].filter((signer) => signer !== undefined);
  if (signers.length === 0 || signers.some((signer) => signer !== login.operatorKeyId)) {
    throw new Denied("signature_invalid", "The change is not signed by the operator who is logged in.");
  }
  for (const { pack: name, bytes } of change.packs) {
    const { pack } = readPack(bytes, `${name}.yaml`);
    if (pack === null || pack.name !== name || !isPackTrusted(policy ?? before, name, pack.digest)) {
      throw new Denied("signature_invalid", `The policy that was signed does not name these bytes of ${name}.`);
    }
  }
  return { before, ...(vault === null ? {} : { vault }), ...(policy === null ? {} : { policy }) };
}

function storePacks(folder: string, { packs }: SignedChange, { before, policy }: Checked, random: Random): void {
  for (const { pack, bytes } of packs) writePack(folder, pack, bytes, random);
  if (policy !== undefined) removePacks(folder, before, policy);
}

/** Bytes that the policy names by digest. */
export function writePack(folder: string, pack: string, bytes: Buffer, random: Random): void {
  makeFolder(join(folder, "trusted"));
  for (const at of [folder, join(folder, "trusted")]) replaceFile(join(at, `${pack}.yaml`), bytes, random);
}

/** What the policy before named and this one does not. */
export function removePacks(folder: string, before: Policy, policy: Policy): void {
  const kept = new Set(policy.packs.map(({ pack }) => pack));
  for (const { pack } of before.packs) if (!kept.has(pack)) rmSync(join(folder, `${pack}.yaml`), { force: true });
}

function readPart(path: string, from: number): Buffer {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    throw new Denied("not_found", "There is no such file in the log.");
  }
  try {
    if (!fstatSync(fd).isFile()) throw new Denied("not_found", "There is no such file in the log.");
    const part = Buffer.alloc(defaults.logPartBytes);
    return part.subarray(0, readSync(fd, part, 0, part.length, from));
  } finally {
    closeSync(fd);
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function moved(): Denied {
  return new Denied("vault_busy", "Somebody else changed the vault or the policy meanwhile. Run the command again.");
}
