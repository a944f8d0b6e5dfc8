import { existsSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isoTime } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { requireOperator } from "../../../vault/operator.ts";
import { vaultPage } from "../../../vault/verify.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import type { OperatorOptions } from "../options.ts";
import { noteMade } from "../vault/made.ts";
import { say, withPassphrase } from "../vault/session.ts";
import { readEntries } from "./entries.ts";
import { writeBackup } from "./sealed-file.ts";

/** `gw backup FILE`: the whole home, sealed for its operators and signed by one. A running gateway is not disturbed. */
export function runBackup(file: string, options: OperatorOptions, deps: CliDeps): Promise<Exit> {
  const { io, vault: ports } = deps;
  return answering(io, () => {
    const path = resolve(file);
    if (existsSync(path)) throw new Denied("file_not_written", `${path} is there already. Name another file.`);
    if (path.startsWith(`${resolve(options.home)}/`))
      throw new Denied("file_not_written", "A backup inside the home would be lost with it. Name a file elsewhere.");
    if (!existsSync(dirname(path)))
      throw new Denied("file_not_written", `There is no folder ${dirname(path)}. Make it, or name another file.`);
    return withPassphrase(options, io, ports, async ({ home, operator }) => {
      const keeper = await deps.homeKeeper();
      const vault = home.readVault();
      requireOperator(vault, operator);
      const policy = home.readPolicy(vault);
      const state = join(dirname(path), `.gw-backup-${ports.random.bytes(8).toString("hex")}.tmp`);
      try {
        // The log first, the state after it: what the log shows as open, the state of a later moment still knows.
        const content = readEntries(home.folder, () => (keeper.copyState(home.folder, state) ? state : null));
        const head = { madeAt: isoTime(ports.clock.wallMs()), vault: vaultPage(vault), readers: vault.operators };
        const digest = writeBackup(
          path,
          head,
          content,
          { name: operator.name, sign: operator.approver.sign },
          ports.random,
        );
        noteMade(ports.stateFolder, vault.vaultId, "backup", head.madeAt);
        const { generation } = vault;
        const record = { file: path, digest, generation, policy_version: policy.version };
        say(
          io,
          options.json,
          record,
          `Wrote ${path}: vault generation ${generation}, policy version ${policy.version}. ${vault.operators.map(({ name }) => name).join(", ")} can open it with their passphrases of today; gw restore puts it back.`,
        );
        return exits.done;
      } catch (error) {
        if (!(error instanceof Denied && error.code === "file_not_written")) removeIfThere(path);
        // No room, no right, no such folder: the operating system's own words say which.
        if (!(error instanceof Error && "syscall" in error)) throw error;
        throw new Denied("file_not_written", `No backup was made: ${error.message}. Name a file that can be written.`);
      } finally {
        removeIfThere(state);
      }
    });
  });
}

/** Where a folder cannot even be entered there is nothing of ours in it. */
function removeIfThere(path: string): void {
  if (existsSync(path)) rmSync(path);
}
