import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { nodeSteps } from "../../../vault/files/atomic-write.ts";
import { fingerprintHome } from "../../../vault/files/fingerprint.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import { type OpenOperator, requireOperator } from "../../../vault/operator.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import type { Vault } from "../../../vault/vault.ts";
import { vaultPage } from "../../../vault/verify.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { leadsInto } from "../leads-into.ts";
import type { OperatorOptions } from "../options.ts";
import { noteMade } from "../vault/made.ts";
import { say, type VaultCliPorts, withPassphrase } from "../vault/session.ts";
import { readEntries } from "./entries.ts";
import type { HomeKeeper } from "./home-keeper.ts";
import { writeBackup } from "./sealed-file.ts";

/** `gw backup FILE`: the whole home, sealed for its operators and signed by one. A running gateway is not disturbed. */
export function runBackup(file: string, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io, vault: ports } = deps;
  return answering(io, () => {
    const path = resolve(file);
    if (existsSync(path)) throw new Denied("file_not_written", `${path} is there already. Name another file.`);
    if (leadsInto(path, options.home))
      throw new Denied("file_not_written", "A backup inside the home would be lost with it. Name a file elsewhere.");
    if (!existsSync(dirname(path)))
      throw new Denied("file_not_written", `There is no folder ${dirname(path)}. Make it, or name another file.`);
    return withPassphrase(options, io, ports, async ({ home, operator }) => {
      const keeper = await deps.homeKeeper();
      for (let left: number = defaults.filesLooks; ; left--) {
        const made = makeBackup(path, home, operator, keeper, ports);
        if (made === null && left > 0) continue;
        if (made === null)
          throw new Denied(
            "vault_busy",
            "Others changed the home each time while it was copied. Make the backup again.",
          );
        const { digest, madeAt, vault, policy } = made;
        noteMade(ports.stateFolder, vault.vaultId, "backup", madeAt);
        const { generation } = vault;
        const record = { file: path, digest, generation, policy_version: policy.version };
        say(
          io,
          options.json,
          record,
          `Wrote ${path}: vault generation ${generation}, policy version ${policy.version}. ${vault.operators.map(({ name }) => name).join(", ")} can open it with their passphrases of today; gw restore puts it back.`,
        );
        return exits.done;
      }
    });
  });
}

interface MadeBackup {
  readonly digest: string;
  readonly madeAt: string;
  readonly vault: Vault;
  readonly policy: Policy;
}

/**
 * Written under another name first, so that what has its own name is whole. Null where vault, policy or packs were changed meanwhile, or
 * a part of the log was archived: what is inside would not be one home, and nobody could restore it.
 */
function makeBackup(
  path: string,
  home: VaultHome,
  operator: OpenOperator,
  keeper: Pick<HomeKeeper, "copyState">,
  ports: VaultCliPorts,
): MadeBackup | null {
  const stem = join(dirname(path), `.gw-backup-${ports.random.bytes(8).toString("hex")}`);
  const [state, part] = [`${stem}.tmp`, `${stem}.part`];
  const files = fingerprintHome(home.folder);
  try {
    const vault = home.readVault();
    requireOperator(vault, operator);
    const policy = home.readPolicy(vault);
    // The log first, the state after it: what the log shows as open, the state of a later moment still knows.
    const content = readEntries(home.folder, () => (keeper.copyState(home.folder, state) ? state : null));
    const madeAt = isoTime(ports.clock.wallMs());
    const head = { madeAt, vault: vaultPage(vault), readers: vault.operators };
    const maker = { name: operator.name, sign: operator.approver.sign };
    const digest = writeBackup(part, head, content, maker, ports.random);
    if (fingerprintHome(home.folder) !== files) return null;
    renameSync(part, path);
    nodeSteps.syncFolder(dirname(path));
    return { digest, madeAt, vault, policy };
  } catch (error) {
    if (isGone(error, home.folder) || fingerprintHome(home.folder) !== files) return null;
    // No room, no right, no such folder: the operating system's own words say which.
    if (!(error instanceof Error && "syscall" in error)) throw error;
    throw new Denied("file_not_written", `No backup was made: ${error.message}. Name a file that can be written.`);
  } finally {
    for (const name of [state, part]) removeIfThere(name);
  }
}

/** A file of the home that was there a moment before. */
function isGone(error: unknown, home: string): boolean {
  return (
    error instanceof Error &&
    "code" in error &&
    error.code === "ENOENT" &&
    "path" in error &&
    String(error.path).startsWith(`${home}/`)
  );
}

/** Where a folder cannot even be entered there is nothing of ours in it. */
function removeIfThere(path: string): void {
  if (existsSync(path)) rmSync(path);
}
