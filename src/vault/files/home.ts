import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Random } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Policy } from "../policy/policy.ts";
import { type PolicyAuthority, parsePolicy, policyText } from "../policy/verify.ts";
import type { Vault } from "../vault.ts";
import { parseVault, vaultPage } from "../verify.ts";
import { nodeSteps, replaceFile, type WriteSteps } from "./atomic-write.ts";
import { withLock } from "./lock.ts";
import { makeFolder } from "./make-folder.ts";
import { checkPrivateFolder, readPrivateFile } from "./private-file.ts";

/** The vault's and the policy's files in GW_HOME. Everything read is checked; everything written is whole or not there. */
export interface VaultHome {
  readonly folder: string;
  exists(): boolean;
  readVault(): Vault;
  readPolicy(authority: PolicyAuthority): Policy;
  /** Makes the folder and both files; `vault_exists` where there is one. */
  create(vault: Vault, policy: Policy): Promise<void>;
  /** Reads, changes and writes under the lock, so that two changes never lose one. Returns what `change` made. */
  change<Made extends HomeChange>(change: (vault: Vault) => Promise<Made> | Made): Promise<Made>;
  /** Reads while nobody writes: both files are of one change. `vault_busy` at once when somebody does. */
  undisturbed<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * What a change writes. The policy goes first: a vault that no longer knows an old signer must find the new signature. It goes
 * last where the vault that stands does not know the new signer, and the new one still knows the old.
 */
export interface HomeChange {
  readonly vault?: Vault;
  readonly policy?: Policy;
}

export const VAULT_NAME = "vault.json";
export const POLICY_NAME = "policy.json";
const LOCK_NAME = "vault.lock";

export function openHome(folder: string, random: Random, steps: WriteSteps = nodeSteps): VaultHome {
  const vaultPath = join(folder, VAULT_NAME);
  const policyPath = join(folder, POLICY_NAME);

  const readVault = (): Vault => {
    checkHome();
    const bytes = readPrivateFile(vaultPath, defaults.vaultFileBytes);
    if (bytes === undefined) throw missing(vaultPath);
    return parseVault(textOf(bytes, "vault_malformed"));
  };
  const writeVault = (vault: Vault): void => {
    const page = vaultPage(vault);
    if (page.length > defaults.vaultFileBytes)
      throw new Denied("file_too_large", "The vault would be larger than gw reads.");
    // Read back before it replaces a good file: what cannot be read again is never written.
    parseVault(page);
    replaceFile(vaultPath, Buffer.from(page, "utf8"), random, steps);
  };
  const readPolicy = (authority: PolicyAuthority): Policy => {
    checkHome();
    const bytes = readPrivateFile(policyPath, defaults.policyFileBytes);
    if (bytes === undefined) throw new Denied("policy_missing", `There is no ${policyPath}. Restore it.`);
    return parsePolicy(textOf(bytes, "policy_malformed"), authority);
  };
  const writePolicy = (policy: Policy): void =>
    replaceFile(policyPath, Buffer.from(policyText(policy), "utf8"), random, steps);
  const checkHome = (): void => {
    if (checkPrivateFolder(folder) === undefined) throw missing(vaultPath);
  };

  return {
    folder,
    exists: () =>
      checkPrivateFolder(folder) === true && readPrivateFile(vaultPath, defaults.vaultFileBytes) !== undefined,
    readVault,
    readPolicy,
    async create(vault, policy) {
      makeFolder(folder);
      checkHome();
      await withLock(join(folder, LOCK_NAME), () => {
        if (readPrivateFile(vaultPath, defaults.vaultFileBytes) !== undefined) {
          throw new Denied(
            "vault_exists",
            `${vaultPath} is there already. Use it, or name another folder with --home.`,
          );
        }
        writePolicy(policy);
        writeVault(vault);
        // The folder itself is new: its name has to survive a power cut too.
        steps.syncFolder(dirname(folder));
      });
    },
    undisturbed: (work) => withLock(join(folder, LOCK_NAME), work, 0),
    async change(change) {
      checkHome();
      return await withLock(join(folder, LOCK_NAME), async () => {
        const current = readVault();
        const made = await change(current);
        const { vault, policy } = made;
        const vaultFirst =
          vault !== undefined &&
          policy !== undefined &&
          !holds(() => parsePolicy(policyText(policy), current)) &&
          holds(() => readPolicy(vault));
        if (vault !== undefined && vaultFirst) writeVault(vault);
        if (policy !== undefined) writePolicy(policy);
        if (vault !== undefined && !vaultFirst) writeVault(vault);
        return made;
      });
    },
  };
}

function holds(read: () => Policy): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof Denied) return false;
    throw error;
  }
}

function textOf(bytes: Buffer, code: "vault_malformed" | "policy_malformed"): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Denied(code, "The file is not UTF-8. Restore a copy you trust.");
  }
}

function missing(path: string): Denied {
  if (wasBeingRestored(dirname(path))) {
    return new Denied(
      "vault_missing",
      `There is no ${path}: a restoration of this home was cut short. Nothing is lost; restore again: gw restore FILE`,
    );
  }
  return new Denied("vault_missing", `There is no ${path}. Make one with gw init, or name the home with --home.`);
}

/** What a restoration puts aside, and no vault: it was cut short between the two. */
function wasBeingRestored(folder: string): boolean {
  try {
    return readdirSync(folder).some((name) => name.startsWith("before-restore-"));
  } catch {
    return false;
  }
}
