import type { KeyObject } from "node:crypto";
import type { Clock, Random, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Secret } from "../../../kernel/secret.ts";
import type { Compartment } from "../../../vault/compartment.ts";
import { type HomeChange, openHome, type VaultHome } from "../../../vault/files/home.ts";
import { isGoingBack } from "../../../vault/high-water.ts";
import { type OpenOperator, openCompartment } from "../../../vault/operator.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { type PolicyDraft, signPolicy } from "../../../vault/policy/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { Keeper } from "../../client/keeper.ts";
import type { KeyHolder } from "../../keeper/hold-keys.ts";
import type { CliIo, Exit } from "../io.ts";
import { sayProse } from "../say-prose.ts";
import { readPassphrase } from "./ask-secret.ts";
import { chooseOperator, unlockTold, type WrongPassphrase } from "./open-keys.ts";
import { checkSeen, remember } from "./seen.ts";

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

/** The programs behind `gw login` on this machine, one a vault. */
export interface LoginPorts {
  find(vaultId: string): Promise<Keeper | null>;
  start(holder: KeyHolder, keys: Compartment, forMs: number): Promise<void>;
}

export interface FormAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface AwaitedBrowser {
  readonly redirectUri: string;
  /** The query that the browser came back with, of the one that carries our state. */
  readonly came: Promise<URLSearchParams>;
  close(): void;
}

export interface VaultCliPorts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly sleep: Sleep;
  readonly random: Random;
  /** Where this operator's client remembers what it saw, outside every home. */
  readonly stateFolder: string;
  readonly logins: LoginPorts;
  /** A public document, such as what a provider says of itself; undefined where there is none. */
  fetchDocument?(url: string, ca: string | null): Promise<Buffer | undefined>;
  /** One form to an authorization server, for a person who logs in. */
  postForm?(
    url: string,
    ca: string | null,
    headers: Readonly<Record<string, string>>,
    body: string,
  ): Promise<FormAnswer>;
  /** Waits on loopback for a browser to bring back what a provider sent it with. Port 0 takes a free one. */
  awaitBrowser?(port: number, state: string): Promise<AwaitedBrowser>;
  /** Brings the files that a command reads up to date, where they are an operator's copy of a home that is closed to them. */
  refresh(): Promise<void>;
  /** What other hosts of the vault signed is here then, where a hub has it: what is signed next goes on from that. */
  beforeChange?(operator: OpenOperator): Promise<void>;
  afterChange(change: VaultChanged): Promise<void>;
  afterWrongPassphrase(failure: WrongPassphrase): Promise<void>;
}

/** One answer, as a record for programs or as a line for people. */
export function say(io: CliIo, json: boolean, record: Readonly<Record<string, unknown>>, line: string): void {
  if (json) io.out(JSON.stringify(record));
  else for (const row of line.split("\n")) sayProse(io, row, 2);
}

export interface VaultSession {
  readonly home: VaultHome;
  readonly operator: OpenOperator;
  /** How many wrong passphrases came before this right one. */
  readonly wrongBefore?: number;
}

interface HowOld {
  /** What takes power away, or only reads, works on a home that was put back too. */
  readonly goingBack?: "refused" | "told";
}

type Written = HomeChange & { readonly newServiceKey?: Secret };

/** Opens an operator's keys, by the PIN after `gw login` or else by the passphrase, and wipes them whatever happens. */
export function withOperator<Result>(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  work: (session: VaultSession) => Promise<Result>,
  how: HowOld = {},
): Promise<Result> {
  return inHome(options, io, ports, how, async (home, vault, remembering) => {
    const keeper = await findLogin(options, vault, ports);
    if (keeper?.hasPin !== true) {
      keeper?.close();
      return await unlocking(options, io, ports, home, vault, remembering, work);
    }
    try {
      using pin = await io.askSecret(`PIN of ${keeper.operator}: `);
      const operator = await openCompartment(vault, keeper.operator, await keeper.open(pin));
      return await wiping(operator, remembering, () => work({ home, operator }));
    } finally {
      keeper.close();
    }
  });
}

/** The same by the passphrase alone, for what decides who can open these keys. */
export function withPassphrase(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  work: (session: VaultSession & { readonly passphrase: Secret }) => Promise<Exit>,
): Promise<Exit> {
  return inHome(options, io, ports, {}, (home, vault, remembering) =>
    unlocking(options, io, ports, home, vault, remembering, work),
  );
}

/** What of an operator's keys opens what was sealed for them. */
export interface Reader {
  readonly keyId: string;
  readonly vaultId: string;
  readonly readingKey: KeyObject;
}

/** Whoever may read: after `gw login` nothing is asked. */
export interface ReaderSession {
  readonly home: VaultHome;
  readonly operator: Reader;
}

export function withReader(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  work: (session: ReaderSession) => Promise<Exit>,
): Promise<Exit> {
  return inHome(options, io, ports, { goingBack: "told" }, async (home, vault, remembering) => {
    const keeper = await findLogin(options, vault, ports);
    if (keeper === null) return await unlocking(options, io, ports, home, vault, remembering, work);
    try {
      const { keyId, vaultId } = keeper;
      return await work({ home, operator: { keyId, vaultId, readingKey: await keeper.readingKey() } });
    } finally {
      keeper.close();
    }
  });
}

/** The login of this operator, where there is one; a passphrase that was named goes before it. */
export async function findLogin(options: VaultOptions, vault: Vault, ports: VaultCliPorts): Promise<Keeper | null> {
  if (options.passphraseFile !== undefined) return null;
  const keeper = await ports.logins.find(vault.vaultId);
  if (keeper === null) return null;
  const known = vault.operators.some(({ name, keyId }) => name === keeper.operator && keyId === keeper.keyId);
  if (known && (options.operator ?? keeper.operator) === keeper.operator) return keeper;
  keeper.close();
  return null;
}

async function inHome<Result>(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  { goingBack = "refused" }: HowOld,
  work: (home: VaultHome, vault: Vault, remembering: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const home = openHome(options.home, ports.random);
  const look = (): InForce => {
    const found = readInForce(home);
    checkSeen(ports.stateFolder, home.folder, found.vault, found.policy);
    return found;
  };
  const { vault, policy } = await lookingAgain(ports, look).catch((error: unknown) => {
    // What takes power away works on an old home too; everything else would sign or hand over something.
    if (goingBack === "refused" || !(error instanceof Denied)) throw error;
    const found = readInForce(home);
    io.err(`WARNING: ${error.code}: ${error.message}`);
    return found;
  });
  return await work(home, vault, async () => {
    if (goingBack === "refused") await remember(ports.stateFolder, home.folder, vault, { policy });
  });
}

/**
 * Between two looks of this command another one of the same operator may have changed the home, and written down that it did: it looks
 * again before it accuses, each time at all that is known by then. What was put back is older each time.
 */
export async function lookingAgain<Found>(
  { refresh }: Pick<VaultCliPorts, "refresh">,
  look: () => Promise<Found> | Found,
): Promise<Found> {
  for (let left: number = defaults.filesLooks; ; left--) {
    try {
      return await look();
    } catch (error) {
      if (left === 0 || !(error instanceof Denied) || !isGoingBack(error.code)) throw error;
    }
    // Where nothing newer is to be had, the next look says the same.
    await refresh().catch(() => undefined);
  }
}

async function unlocking<Result>(
  options: VaultOptions,
  io: CliIo,
  ports: VaultCliPorts,
  home: VaultHome,
  vault: Vault,
  remembering: () => Promise<void>,
  work: (session: VaultSession & { readonly passphrase: Secret }) => Promise<Result>,
): Promise<Result> {
  // Whose it is, before it is typed: a right passphrase of somebody else must not count as a wrong one.
  const name = await chooseOperator(vault, options, io);
  using passphrase = await readPassphrase(options, io, `Passphrase of ${name}: `);
  const { operator, wrongBefore } = await unlockTold(home, vault, name, passphrase, io, ports);
  return await wiping(operator, remembering, () => work({ home, operator, wrongBefore, passphrase }));
}

async function wiping<Result>(
  operator: OpenOperator,
  remembering: () => Promise<void>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    await remembering();
    return await work();
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
  await ports.beforeChange?.(operator);
  // Looked at once more under the lock: what is changed and signed is the newest, or nothing is.
  const made = await lookingAgain(ports, () =>
    home.change((current) => {
      checkSeen(ports.stateFolder, home.folder, current, policyInForce(home, current));
      return change(current);
    }),
  );
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

interface InForce {
  readonly vault: Vault;
  readonly policy: Policy | null;
}

function readInForce(home: VaultHome): InForce {
  const vault = home.readVault();
  return { vault, policy: policyInForce(home, vault) };
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
