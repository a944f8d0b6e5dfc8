import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import type { Command } from "commander";
import { programFile } from "../program-file.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addInstallCommands(program: Command, { io, random, finish }: CliDeps): void {
  const ports = {
    userHome: homedir(),
    program: programFile,
    random,
    systemctl: (words: readonly string[]) =>
      spawnSync("systemctl", ["--user", ...words], { stdio: "ignore" }).status === 0,
  };
  const load = () => import("../install/install.ts");
  addCommand(program, "install", "start the gateway with your session, for yourself alone", "gw install --user")
    .requiredOption("--user", "for this user; a server has the Debian package")
    .action(async (_options, command: Command) =>
      finish(await (await load()).runInstall(optionsOf(command), io, ports)),
    );
  addCommand(program, "uninstall", "undo gw install --user; the home stays", "gw uninstall").action(
    async (_options, command: Command) => finish(await (await load()).runUninstall(optionsOf(command), io, ports)),
  );
}
