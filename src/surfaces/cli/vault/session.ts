import type { Clock, Random, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Secret } from "../../../kernel/secret.ts";
import { unlockCounted } from "../../../vault/files/attempts.ts";
import { type HomeChange, openHome, type VaultHome } from "../../../vault/files/home.ts";
import { readPrivateFile } from "../../../vault/files/private-file.ts";
import { findSlot, type OpenOperator } from "../../../vault/operator.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { type PolicyDraft, signPolicy } from "../../../vault/policy/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { CliIo, Exit } from "../io.ts";
import { checkSeen, remember } from "./seen.ts";
import { nameOfUser } from "./user-name.ts";

/** What every command of the vault takes, as the command line parsed it. */
export interface VaultOptions {
  readonly home: string;
  readonly json: boolean;
  readonly operator?: string;
  readonly passphraseFile?: string;
}

/** A change that was written: the gateway, when it is up, has to load the files again and record it. */
export interface VaultChanged {
  readonly home: string;
  readonly what: string;
  readonly subject: string;
  readonly by: string;
  readonly generation: number;
  readonly manifestHash: string;
  readonly policyVersion: number | null;
  /** After an operator was removed: the gateway and key files need this one. */
  readonly newServiceKey: Secret | null;
  readonly vaultChanged: boolean;
  /** Whoever signed it, still unlocked. */
  readonly operator: OpenOperator;
}

export interface VaultCliPorts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly sleep: Sleep;
  readonly random: Random;
  /** Where this operator's client remembers what it saw, outside every home. */
  readonly stateFolder: string;
  afterChange(change: VaultChanged): Promise<void>;
  afterWrongPassphrase(failure: {
    readonly home: string;
    readonly operator: string;
    readonly failedAttempts: number;
  }): Promise<void>;
}

/** One answer, as a record for programs or as a line for people. */
export function say(io: CliIo, json: boolean, record: Readonly<Record<string, unknown>>, line: string): void {
  io.out(json ? JSON.stringify(record) : line);
}

export async function readPassphrase(options: VaultOptions, io: CliIo, prompt: string): Promise<Secret> {
  if (options.passphraseFile === undefined) return await io.askSecret(prompt);
  const secret = readSecretFile(options.passphraseFile);
  io.err("warning: a passphrase in a file can be read by every program of this user.");
  return secret;
}

/** One line of a private file, without its end of line. */
export function readSecretFile(path: string): Secret {
  const bytes = readPrivateFile(path, defaults.secretBytes);
  if (bytes === undefined) throw new Denied("secret_missing", `There is no file ${path}.`);
  let end = bytes.length;
  if (bytes[end - 1] === 0x0a) end--;
  if (bytes[end - 1] === 0x0d) end--;
  const secret = Secret.take(Buffer.from(bytes.subarray(0, end)));
  bytes.fill(0);
  return secret;
}

/** Twice without echo, until both are the same once; a difference ends the command. */
export async function askTwice(io: CliIo, prompt: string): Promise<Secret> {
  const first = await io.askSecret(prompt);
  using second = await io.askSecret("Once more: ");
  if (first.equals(second)) return first;
  first.wipe();
  throw new Denied("secret_mismatch", "The two differ. Nothing was changed.");
}

export interface VaultSession {
  readonly home: VaultHome;
  readonly operator: OpenOperator;
  readonly passphrase: Secret;
}

type Written = HomeChange & { readonly newServiceKey?: Secret };

/** Unlocks an operator, lets `work` prepare and change, and wipes the keys whatever happens. */
export async function withOperator(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  work: (session: VaultSession) => Promise<Exit>,
  { goingBack = "refused" }: { readonly goingBack?: "refused" | "told" } = {},
): Promise<Exit> {
  const home = openHome(options.home, ports.random);
  const vault = home.readVault();
  const policy = policyInForce(home, vault);
  try {
    checkSeen(ports.stateFolder, home.folder, vault, policy);
  } catch (error) {
    // What takes power away works on an old home too; everything else would sign or hand over something.
    if (goingBack === "refused" || !(error instanceof Denied)) throw error;
    io.err(`WARNING: ${error.code}: ${error.message}`);
  }
  // Whose it is, before it is typed: a right passphrase of somebody else must not count as a wrong one.
  const name = chooseOperator(vault, options.operator);
  using passphrase = await readPassphrase(options, io, `Passphrase of ${name}: `);
  const operator = await unlockTold(home, vault, name, passphrase, io, ports);
  try {
    if (goingBack === "refused") await remember(ports.stateFolder, home.folder, vault, { policy });
    return await work({ home, operator, passphrase });
  } finally {
    operator.wipe();
  }
}

/** Applies one change under the lock and tells whoever has to know. */
export async function applyChange(
  { home, operator }: VaultSession,
  ports: VaultCliPorts,
  news: { readonly what: string; readonly subject: string },
  change: (vault: Vault) => Promise<Written> | Written,
): Promise<Vault> {
  // Looked at once more under the lock: what is changed and signed is the newest, or nothing is.
  const made = await home.change((current) => {
    checkSeen(ports.stateFolder, home.folder, current, policyInForce(home, current));
    return change(current);
  });
  const vault = made.vault ?? home.readVault();
  try {
    await ports.afterChange({
      ...news,
      home: home.folder,
      by: operator.name,
      generation: vault.generation,
      manifestHash: vault.manifestHash,
      policyVersion: made.policy?.version ?? null,
      newServiceKey: made.newServiceKey ?? null,
      vaultChanged: made.vault !== undefined,
      operator,
    });
    // Only what was taken: a change that a gateway elsewhere refused was never in force.
    await remember(ports.stateFolder, home.folder, vault, { policy: made.policy ?? policyInForce(home, vault) });
    return vault;
  } finally {
    made.newServiceKey?.wipe();
  }
}

/** Signs the next version of the policy, made from the one in force under the lock. */
export async function applyPolicyChange(
  session: VaultSession,
  ports: VaultCliPorts,
  news: { readonly what: string; readonly subject: string },
  change: (policy: Policy, vault: Vault) => PolicyDraft,
): Promise<void> {
  await applyChange(session, ports, news, (vault) => {
    const policy = session.home.readPolicy(vault);
    return { policy: signPolicy(change(policy, vault), policy, session.operator, vault, ports.clock) };
  });
}

/** The one who was named, the only one, or the one who is called as the person at this machine. */
function chooseOperator(vault: Vault, asked: string | undefined): string {
  const namesake = vault.slots.find(({ name }) => name === nameOfUser())?.name;
  return findSlot(vault, asked ?? (vault.slots.length > 1 ? namesake : undefined)).slot.name;
}

/** Null where the file does not hold: whoever needs it reads it again and is told why. */
export function policyInForce(home: VaultHome, vault: Vault): Policy | null {
  try {
    return home.readPolicy(vault);
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

async function unlockTold(
  home: VaultHome,
  vault: Vault,
  name: string,
  passphrase: Secret,
  io: CliIo,
  ports: VaultCliPorts,
): Promise<OpenOperator> {
  try {
    const { operator, before } = await unlockCounted(home.folder, vault, name, passphrase, ports);
    if (before.failed > 0)
      io.err(`warning: ${before.failed} wrong passphrases since the last unlock, the last at ${before.lastAt}.`);
    return operator;
  } catch (error) {
    if (error instanceof Denied && error.code === "passphrase_wrong") {
      const { operator, failed_attempts: failed } = error.extra;
      await ports.afterWrongPassphrase({
        home: home.folder,
        operator: String(operator),
        failedAttempts: Number(failed),
      });
    }
    throw error;
  }
}
