import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { showIdentifier } from "../../kernel/display.ts";
import type { MachineConfig } from "./place.ts";
import { type ConfigMembers, invalidConfig, readConfig, textOf } from "./read-config.ts";

export const MACHINE_FILE = "/etc/gw/gw.yaml";
/** The folder that a package makes for the sockets. */
const RUN_FOLDER = "/run/gw";
const NAMES = [
  ...["home", "user", "agent_socket", "operator_socket", "agent_group", "operator_group"],
  ...["ident_socket", "ident_user"],
];

/**
 * The gateway that root set up for this machine; null where there is none. A file that was named on the command line may
 * be the reader's own. No variable names one: what starts a program that holds keys may choose its variables.
 */
export async function readMachine(given: string | undefined): Promise<MachineConfig | null> {
  const file = given ?? MACHINE_FILE;
  const own = process.geteuid?.() ?? 0;
  const members = await readConfig(file, NAMES, given === undefined || own === 0 ? [0] : [0, own], 0o022);
  if (members === null) {
    if (given === undefined) return null;
    throw invalidConfig(file, "there is no such file that this user may read");
  }
  const home = pathOf(file, members, "home");
  if (home === undefined) throw invalidConfig(file, "home is missing");
  const user = accountOf(file, members, "user", "/etc/passwd");
  if (user === null) throw invalidConfig(file, "user is missing: the name or number of the gateway's user");
  return {
    file,
    home,
    user,
    userWord: typeof members["user"] === "string" ? showIdentifier(members["user"]) : `'#${user}'`,
    agentSocket: pathOf(file, members, "agent_socket") ?? join(RUN_FOLDER, "agent.sock"),
    operatorSocket: pathOf(file, members, "operator_socket") ?? join(RUN_FOLDER, "operator.sock"),
    agentGroup: accountOf(file, members, "agent_group", "/etc/group"),
    operatorGroup: accountOf(file, members, "operator_group", "/etc/group"),
    identSocket: pathOf(file, members, "ident_socket") ?? null,
    identUser: accountOf(file, members, "ident_user", "/etc/passwd"),
  };
}

function pathOf(file: string, members: ConfigMembers, name: string): string | undefined {
  const path = textOf(file, members, name);
  if (path !== undefined && !isAbsolute(path)) throw invalidConfig(file, `${name} must be an absolute path`);
  return path;
}

/** A number, or a name as the machine's own files have it; accounts that live elsewhere are written as numbers. */
function accountOf(file: string, members: ConfigMembers, name: string, accounts: string): number | null {
  const value = members[name];
  if (value === undefined) return null;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  if (typeof value !== "string") throw invalidConfig(file, `${name} must be a name or a number`);
  for (const line of readFileSync(accounts, "utf8").split("\n")) {
    const [account, , id] = line.split(":");
    if (account === value && /^\d+$/.test(id ?? "")) return Number(id);
  }
  throw invalidConfig(file, `${name}: there is no ${value} in ${accounts}; make it, or write a number`);
}
