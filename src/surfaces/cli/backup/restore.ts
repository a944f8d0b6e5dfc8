import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { readMarks } from "../../../audit/read/marks.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { lineOf } from "../../../vault/anchor.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { withLock } from "../../../vault/files/lock.ts";
import { checkPrivateFolder } from "../../../vault/files/private-file.ts";
import { type HighWater, higher } from "../../../vault/high-water.ts";
import { type OpenOperator, unlockOperator } from "../../../vault/operator.ts";
import { removeOperator } from "../../../vault/operator-change.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { signPolicy } from "../../../vault/policy/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import { parseVault, signVault } from "../../../vault/verify.ts";
import { answering } from "../answer.ts";
import { checkLog } from "../audit/check-log.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { sayProse } from "../say-prose.ts";
import { readPassphrase } from "../vault/ask-secret.ts";
import { highestSeen, readSeen, remember, removedBefore } from "../vault/seen.ts";
import { say, type VaultCliPorts } from "../vault/session.ts";
import { MAKING, writeEntries } from "./entries.ts";
import { putInPlace } from "./put-in-place.ts";
import { openBackup } from "./sealed-file.ts";

/** `gw restore FILE`: puts a backup in force, above everything that was seen since, under a line of its own. */
export function runRestore(file: string, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io, vault: ports } = deps;
  return answering(io, async () => {
    const keeper = await deps.homeKeeper();
    const target = resolve(options.home);
    if (keeper.isInUse(target)) inUse(target);
    const backup = openBackup(file);
    let made: string | null = null;
    let fresh = false;
    try {
      const vault = parseVault(backup.header.vault);
      // Before the passphrase is typed: whether this goes where it is meant to go.
      requireTarget(target);
      standing(target, vault, ports);
      using passphrase = await readPassphrase(options, io, "Passphrase: ");
      const operator = await unlockOperator(vault, options.operator, passphrase);
      try {
        requireStanding(options.home, ports, vault, operator);
        const maker = vault.operators.find(({ name }) => name === backup.header.by);
        if (maker === undefined)
          throw new Denied("backup_malformed", "The backup names a maker who is no operator of its vault.");
        const above = higher(highestSeen(readSeen(ports.stateFolder, vault.vaultId)), standing(target, vault, ports));
        fresh = makeTarget(target);
        made = mkdtempSync(join(target, MAKING));
        const digest = writeEntries(made, backup.read(operator.readingKey, maker.approverKey));
        const home = openHome(made, ports.random);
        await requireSound(home, vault);
        if (keeper.isInUse(target)) inUse(target);
        const complete = made;
        made = null;
        fresh = false;
        const aside = await withLock(join(target, "vault.lock"), () => putInPlace(target, complete));
        const put = await putInForce(openHome(target, ports.random), operator, above, digest, deps);
        if (aside !== null) io.err(`What was there before is in ${aside}. Remove it when you no longer need it.`);
        return tell(options, deps, put);
      } finally {
        operator.wipe();
      }
    } finally {
      backup.close();
      if (made !== null) rmSync(made, { recursive: true, force: true });
      if (fresh) rmdirSync(target);
    }
  });
}

/** `gw restore --as-found`: signs what this home holds as the newest, where the newer files are lost for good. */
export function runRestoreAsFound(options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io, vault: ports } = deps;
  return answering(io, async () => {
    if ((await deps.homeKeeper()).isInUse(options.home)) inUse(options.home);
    const home = openHome(options.home, ports.random);
    const vault = home.readVault();
    home.readPolicy(vault);
    using passphrase = await readPassphrase(options, io, "Passphrase: ");
    const operator = await unlockOperator(vault, options.operator, passphrase);
    try {
      requireStanding(options.home, ports, vault, operator);
      const above = higher(
        highestSeen(readSeen(ports.stateFolder, vault.vaultId)),
        standing(options.home, vault, ports),
      );
      return tell(options, deps, await putInForce(home, operator, above, null, deps));
    } finally {
      operator.wipe();
    }
  });
}

interface PutInForce {
  readonly vault: Vault;
  readonly policy: Policy;
  readonly from: { readonly generation: number; readonly policyVersion: number };
  readonly above: HighWater;
  readonly removed: readonly string[];
}

/** Signs vault and policy above everything seen, takes removed operators out again, and settles state and log. */
async function putInForce(
  home: VaultHome,
  operator: OpenOperator,
  above: HighWater,
  backup: string | null,
  deps: CliDeps,
): Promise<PutInForce> {
  const { vault: ports } = deps;
  const keeper = await deps.homeKeeper();
  await keeper.requireWholeState(home.folder, home.readVault(), operator);
  const removed: string[] = [];
  let signer = operator;
  const { vault, policy, from } = await home.change(async (current) => {
    const old = home.readPolicy(current);
    const from = { generation: current.generation, policyVersion: old.version };
    const restored = {
      line: `line_${ports.random.bytes(16).toString("hex")}`,
      at: isoTime(ports.clock.wallMs()),
      by: operator.keyId,
      generation: current.generation,
      from: lineOf(current),
    };
    let vault = signVault(
      { ...current, restored },
      current,
      operator,
      current.notes,
      ports.clock,
      above.vault?.generation ?? 0,
    );
    const gone = removedBefore(readSeen(ports.stateFolder, current.vaultId), home.folder, current);
    const readers = new Set(current.operators.filter(({ keyId }) => gone.has(keyId)).map(({ name }) => name));
    for (const { name, keyId } of current.operators) {
      if (!gone.has(keyId)) continue;
      ({ vault, operator: signer } = await removeOperator(vault, signer, name, ports));
      removed.push(name);
    }
    const auditRecipients = old.auditRecipients.filter(({ name }) => !readers.has(name));
    const seen = above.policy?.version ?? 0;
    const policy = signPolicy({ ...old, auditRecipients }, old, signer, vault, ports.clock, seen);
    return { vault, policy, from };
  });
  const head = await keeper.settle(home.folder, vault, policy, signer, { ...from, backup });
  await remember(ports.stateFolder, home.folder, vault, { policy, head });
  if (signer !== operator) signer.wipe();
  return { vault, policy, from, above, removed };
}

/** Whoever this client saw being removed does not come back by putting an old vault in place. */
function requireStanding(home: string, ports: VaultCliPorts, vault: Vault, operator: OpenOperator): void {
  if (!removedBefore(readSeen(ports.stateFolder, vault.vaultId), home, vault).has(operator.keyId)) return;
  throw new Denied(
    "restore_refused",
    `${operator.name} was an operator when this state was made and is none any more. Let an operator of today restore it.`,
  );
}

async function requireSound(home: VaultHome, vault: Vault): Promise<void> {
  const found = home.readVault();
  if (found.manifestHash !== vault.manifestHash || found.notes.serial < vault.notes.serial)
    throw new Denied("backup_malformed", "The vault inside the backup is not the one that it names.");
  home.readPolicy(found);
  if (!existsSync(join(home.folder, "audit"))) return;
  const report = await checkLog(join(home.folder, "audit"), found, { allowUnattested: true });
  // A copy that was made while the log was written may end in the frame that was just on its way.
  const code = report.firstBreach?.code;
  if (report.exit === 0 || code === "tail_undeclared") return;
  throw new Denied("backup_malformed", `The log inside the backup does not hold (${code ?? report.trouble ?? ""}).`);
}

/** The newest that the home which is there now, and its log, tell of; nothing where there is none or it is damaged. */
function standing(folder: string, vault: Vault, { random }: VaultCliPorts): HighWater {
  const nothing: HighWater = { vault: null, policy: null };
  if (!existsSync(folder)) return nothing;
  const logged: HighWater = readMarks(join(folder, "audit"));
  const home = openHome(folder, random);
  try {
    const found = home.readVault();
    if (found.vaultId !== vault.vaultId) {
      throw new Denied("vault_exists", `${folder} holds another vault. Name another folder with --home.`);
    }
    const { generation, manifestHash } = found;
    const withVault = higher(logged, { vault: { generation, manifestHash }, policy: null });
    const { version, digest } = home.readPolicy(found);
    return higher(withVault, { vault: null, policy: { version, digest } });
  } catch (error) {
    if (!(error instanceof Denied) || error.code === "vault_exists") throw error;
    return logged;
  }
}

const OF_A_HOME = /^(vault\.json|policy\.json|state\.db|audit|format|before-restore-.*)$/;

/** The folder to restore into. True when it was made here. */
function makeTarget(target: string): boolean {
  if (requireTarget(target)) return false;
  mkdirSync(target, { mode: 0o700 });
  return true;
}

/** One of ours that nobody else can enter, or none yet; whether it is there. */
function requireTarget(target: string): boolean {
  if (checkPrivateFolder(target) === undefined) return false;
  const names = readdirSync(target);
  if (names.length === 0 || names.some((name) => OF_A_HOME.test(name))) return true;
  throw new Denied(
    "restore_refused",
    `${target} holds files and is no home: they would be put aside. Name an empty folder, or one that does not exist, with --home.`,
  );
}

function tell({ home, json }: OperatorOptions, { io }: CliDeps, put: PutInForce): Exit {
  const { vault, policy, from, above, removed } = put;
  const record = {
    home,
    line: lineOf(vault),
    restored_generation: from.generation,
    restored_policy_version: from.policyVersion,
    seen_generation: above.vault?.generation ?? null,
    seen_policy_version: above.policy?.version ?? null,
    generation: vault.generation,
    policy_version: policy.version,
    removed_again: removed,
  };
  say(
    io,
    json,
    record,
    `Restored ${home}: vault generation ${from.generation} is in force again as generation ${vault.generation}, policy version ${from.policyVersion} as version ${policy.version}, so that no older copy passes for them.`,
  );
  if (json) return exits.done;
  const lost = (above.vault?.generation ?? 0) - from.generation;
  if (lost > 0) {
    const later = lost === 1 ? "1 later change of the vault is" : `${lost} later changes of the vault are`;
    sayProse(io, `${later} not in it: look what that was, with gw audit export`, 2);
  }
  if (removed.length > 0) {
    const again = `${removed.join(", ")} had been removed since, and is removed again: write key files again, rotate what they knew.`;
    sayProse(io, again, 2);
  }
  const accept =
    "It is a line of its own from here: every operator elsewhere looks at it and accepts it with: gw restore --accept";
  sayProse(io, accept, 2);
  return exits.done;
}

function inUse(home: string): never {
  throw new Denied("log_in_use", `A gateway works on ${home}. Stop it first; a restoration is not for a running one.`);
}
