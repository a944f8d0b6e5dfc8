import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import type { OperatorOptions } from "../options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

interface RestoreOptions extends OperatorOptions {
  readonly asFound: boolean;
  readonly accept: boolean;
}

export function addBackupCommands(program: Command, deps: CliDeps): void {
  const { finish } = deps;
  addOperatorCommand(
    program,
    "backup <FILE>",
    "the whole home in one file, sealed for its operators; also while the gateway runs",
    "gw backup /mnt/backup/gw-2026-11-15.gwbackup",
  ).action(async (file: string, _options, command: Command) => {
    const { runBackup } = await import("../backup/backup.ts");
    finish(await runBackup(file, optionsOf(command), deps));
  });
  addOperatorCommand(
    program,
    "restore [FILE]",
    "put a backup in force, signed and logged; or accept what another operator restored",
    "gw restore /mnt/backup/gw-2026-11-15.gwbackup\ngw restore --accept",
  )
    .option("--as-found", "sign what this home holds as the newest, where newer files are lost", false)
    .option("--accept", "go on with what another operator restored", false)
    .action(async (file: string | undefined, _options, command: Command) => {
      const options = optionsOf<RestoreOptions>(command);
      const ways = [file !== undefined, options.asFound, options.accept].filter(Boolean).length;
      if (ways !== 1) throw new Denied("value_not_allowed", "Give one of: a backup FILE, --as-found, --accept.");
      if (options.accept) finish(await (await import("../backup/accept.ts")).runAcceptRestore(options, deps));
      else {
        const { runRestore, runRestoreAsFound } = await import("../backup/restore.ts");
        finish(file === undefined ? await runRestoreAsFound(options, deps) : await runRestore(file, options, deps));
      }
    });
}
