import { chmodSync, existsSync, lstatSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Random } from "../../../kernel/clock.ts";
import { Denied } from "../../../kernel/failure.ts";
import { replaceFile } from "../../../vault/files/atomic-write.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { sayProse } from "../say-prose.ts";

/** What of the machine and the person these commands touch. */
export interface InstallPorts {
  readonly userHome: string;
  /** Our own program by its absolute name. */
  readonly program: string;
  readonly random: Random;
  /** Runs `systemctl --user` with these words; false where no systemd of the user runs. */
  systemctl(words: readonly string[]): boolean;
}

const UNIT = "gw.service";
const STOPPED = "It was another one before: the gateway that it had started was stopped.";
const RUNS_ON = "A gateway that the script started before runs on, until Ctrl-C there.";
const MARK = "# Written by gw install --user; gw uninstall takes it away.";

/** `gw install --user`: a unit of the user's own systemd, or a plain script where there is none. */
export function runInstall(options: BaseOptions, io: CliIo, ports: InstallPorts): Promise<Exit> {
  return answering(io, () => {
    if (!existsSync(join(options.home, "vault.json"))) {
      throw new Denied("vault_missing", `There is no home at ${options.home} yet. Make it first: gw init`);
    }
    const { unit, script } = placesOf(ports);
    for (const path of [unit, script]) requireOurs(path);
    const managed = ports.systemctl(["show-environment"]);
    const path = managed ? unit : script;
    makeFolder(dirname(path), 0o755);
    const text = managed ? unitText(options.home, ports.program) : scriptText(options.home, ports.program);
    // What was started from another text, for another home say, runs on as it was until it is started anew.
    const other = existsSync(path) && readFileSync(path, "utf8") !== text;
    replaceFile(path, Buffer.from(text, "utf8"), ports.random);
    if (managed) {
      const start = other
        ? [
            ["enable", UNIT],
            ["restart", UNIT],
          ]
        : [["enable", "--now", UNIT]];
      if (![["daemon-reload"], ...start].every((words) => ports.systemctl(words))) {
        const next = "Why: systemctl --user status gw; once that is mended: systemctl --user restart gw";
        throw new Denied("gateway_unreachable", `Wrote ${path}, but the gateway did not start. ${next}`);
      }
    } else chmodSync(path, 0o700);
    if (options.json) io.out(JSON.stringify({ installed: path, systemd: managed, replaced: other }));
    else {
      sayProse(io, `Wrote ${path}.`, 2);
      if (other) sayProse(io, managed ? STOPPED : `${RUNS_ON} It may be that of another home.`, 2);
      sayProse(
        io,
        managed
          ? "It runs with your session, and is locked until you unlock it: gw unlock --first. To keep it without a session: loginctl enable-linger"
          : `No systemd of yours runs here. Start the gateway with: ${path} and in another terminal: gw unlock --first`,
        2,
      );
    }
    return exits.done;
  });
}

/** `gw uninstall`: takes away what `gw install --user` wrote. The home, its secrets and its log stay. */
export function runUninstall(options: BaseOptions, io: CliIo, ports: InstallPorts): Promise<Exit> {
  return answering(io, () => {
    const { unit, script, wants } = placesOf(ports);
    const there = [unit, script].filter((path) => existsSync(path));
    for (const path of there) requireOurs(path);
    if (there.includes(unit)) ports.systemctl(["disable", "--now", UNIT]);
    // As `systemctl disable` would: where no systemd of the user runs, its link would stay and name a unit that is gone.
    if (leadsTo(wants, unit)) there.push(wants);
    for (const path of there) rmSync(path);
    if (there.includes(unit)) ports.systemctl(["daemon-reload"]);
    if (options.json) io.out(JSON.stringify({ removed: there }));
    else if (there.length === 0) sayProse(io, "Nothing of gw install --user is here.");
    else {
      const removed = `Removed ${there.join(" and ")}. ${options.home} is untouched: it holds your secrets and your log.`;
      sayProse(io, removed, 2);
      if (there.includes(script)) sayProse(io, RUNS_ON, 2);
    }
    return exits.done;
  });
}

function placesOf({ userHome }: InstallPorts) {
  const units = join(userHome, ".config", "systemd", "user");
  return {
    unit: join(units, UNIT),
    wants: join(units, "default.target.wants", UNIT),
    script: join(userHome, ".local", "bin", "gw-start"),
  };
}

function leadsTo(link: string, target: string): boolean {
  if (lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return false;
  return resolve(dirname(link), readlinkSync(link)) === target;
}

function requireOurs(path: string): void {
  if (!existsSync(path) || readFileSync(path, "utf8").includes(MARK)) return;
  throw new Denied("install_foreign", `${path} is not gw's. Move it away first; nothing was changed.`);
}

function unitText(home: string, program: string): string {
  const quoted = (text: string): string =>
    `"${text.replaceAll("%", "%%").replaceAll("$", "$$$$").replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  return [
    ...[MARK, "[Unit]", "Description=Agent Action Gateway"],
    // As in packaging/systemd/gw.service: five starts that are refused end it.
    ...["StartLimitIntervalSec=300s", "StartLimitBurst=5", ""],
    // It is the gateway that says when it serves, a child of the command: whoever started the unit can unlock at once.
    ...["[Service]", "Type=notify", "NotifyAccess=all", "TimeoutStartSec=120s", "SyslogIdentifier=gw"],
    ...[`ExecStart=${quoted(program)} up --locked --home ${quoted(home)}`, "Restart=on-failure", "RestartSec=2s"],
    ...["UMask=0077", "NoNewPrivileges=yes", "", "[Install]", "WantedBy=default.target", ""],
  ].join("\n");
}

function scriptText(home: string, program: string): string {
  const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
  return `#!/bin/sh\n${MARK}\nexec ${quoted(program)} up --locked --home ${quoted(home)} "$@"\n`;
}
