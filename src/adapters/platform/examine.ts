import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, lstatSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Denied } from "../../kernel/failure.ts";
import { installation } from "../../kernel/installation.ts";
import { isDamagedFile } from "../store/sqlite/look.ts";

/** What this machine has for us. Every row that is not `ok` names the command that mends it. */
export interface Examined {
  readonly name: string;
  readonly state: "ok" | "missing" | "warning";
  readonly detail: string;
  readonly mend: string | null;
}

const DIGESTS = join(installation, "bin/node-digests.json");
const NODE_FLOOR = [24, 15] as const;
const PEER_PIDFD_KERNEL = [6, 5] as const;
/** From here on the client proves the host to its agent; with an older one nothing would be signed. */
const OPENSSH_FLOOR = [8, 9] as const;

export async function examineMachine(home: string): Promise<readonly Examined[]> {
  return [
    examineNode(process.versions.node),
    examinePinned(process.execPath, process.versions.node),
    examineSignals(process.execArgv),
    examineKernel(process.platform, release()),
    examineSshClient(
      await examineProgram("openssh client", "/usr/bin/ssh", ["-V"], "SSH actions", "apt-get install openssh-client"),
    ),
    await examineProgram("openssh server", "/usr/sbin/sshd", ["-V"], "the SSH tests", "apt-get install openssh-server"),
    await examineBox(),
    await examineProgram("chromium", "chromium", ["--version"], "the browser tests", "apt-get install chromium"),
    ...examineHome(home),
  ];
}

export function examineNode(version: string): Examined {
  const fits = atLeast(version, NODE_FLOOR);
  return {
    name: "node",
    state: fits ? "ok" : "missing",
    detail: fits ? `v${version}` : `v${version}; ${NODE_FLOOR.join(".")} or newer is needed`,
    mend: fits ? null : "npm ci",
  };
}

/** Whether the Node that runs this is the one that our release names, byte for byte. */
export function examinePinned(file: string, version: string): Examined {
  const table = JSON.parse(readFileSync(DIGESTS, "utf8")) as Record<string, Record<string, string>>;
  const wanted = table[version]?.[`${process.platform}-${process.arch}`];
  const found = createHash("sha256").update(readFileSync(file)).digest("hex");
  const same = wanted === found;
  return {
    name: "node file",
    state: same ? "ok" : wanted === undefined ? "warning" : "missing",
    detail: same
      ? `sha256 ${found.slice(0, 16)}…, as released`
      : `${file} is not the Node that this release was tested with`,
    mend: same ? null : "remove node_modules and run npm ci, or install a package of gw",
  };
}

/** A client that is there must also be new enough. */
export function examineSshClient(found: Examined): Examined {
  const version = /OpenSSH_(\d+\.\d+)/.exec(found.detail)?.[1];
  if (found.state !== "ok" || (version !== undefined && atLeast(version, OPENSSH_FLOOR))) return found;
  return {
    ...found,
    state: "warning",
    detail: `${found.detail}: SSH actions need OpenSSH ${OPENSSH_FLOOR.join(".")} or newer and send nothing with this one`,
    mend: "apt-get install openssh-client",
  };
}

export function examineSignals(execArgv: readonly string[]): Examined {
  const guarded = execArgv.includes("--disable-sigusr1");
  return {
    name: "inspector",
    state: guarded ? "ok" : "warning",
    detail: guarded ? "SIGUSR1 does not open it" : "SIGUSR1 would open it for any program of this user",
    mend: guarded ? null : "start gw through its launcher, bin/gw in its own folder",
  };
}

export function examineKernel(platform: string, kernel: string): Examined {
  if (platform === "darwin") {
    return {
      name: "callers",
      state: "warning",
      detail: "macOS: peer audit tokens; not yet run on hardware",
      mend: null,
    };
  }
  if (platform !== "linux") {
    return {
      name: "callers",
      state: "missing",
      detail: `${platform} has no way to name callers here`,
      mend: "run gw on Linux or macOS",
    };
  }
  const fits = atLeast(kernel, PEER_PIDFD_KERNEL);
  return {
    name: "peer pidfd",
    state: fits ? "ok" : "warning",
    detail: fits ? `Linux ${kernel}` : `Linux ${kernel}: a session lasts for its connection only`,
    mend: fits ? null : `boot a kernel of ${PEER_PIDFD_KERNEL.join(".")} or newer`,
  };
}

async function examineProgram(
  name: string,
  command: string,
  args: readonly string[],
  purpose: string,
  mend: string,
): Promise<Examined> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, [...args], { timeout: 10_000 });
    return { name, state: "ok", detail: firstLine(`${stdout}${stderr}`), mend: null };
  } catch (error) {
    // sshd answers its own -V with a usage error on older releases; being there is what counts.
    const text = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
    if (text.includes("OpenSSH"))
      return { name, state: "ok", detail: firstLine(text.slice(text.indexOf("OpenSSH"))), mend: null };
    return { name, state: "warning", detail: `absent; only ${purpose} need it`, mend };
  }
}

/** Whether a contained run could be had. */
async function examineBox(): Promise<Examined> {
  const name = "contained runs";
  try {
    if (process.platform !== "linux") throw new Denied("contain_unavailable", "only Linux has the namespaces for them");
    const { lacks } = await (await import("./linux/box/probe.ts")).chooseBox();
    const { hasLandlock } = await import("./linux/box/landlock.ts");
    const landlock = hasLandlock() ? "with Landlock" : "without Landlock: this kernel has none (5.19 or later has)";
    if (lacks === null)
      return { name, state: "ok", detail: `a box of the first tier can be built, ${landlock}`, mend: null };
    const detail = `a box of the second tier can be built, by bubblewrap, ${landlock}: tools that heed proxy variables work in it. For the first: ${withoutMend(lacks)}`;
    return { name, state: "warning", detail, mend: mendOf(lacks) };
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    const detail = `${withoutMend(error)} Only gw run --contain needs it`;
    return { name, state: "warning", detail, mend: mendOf(error) };
  }
}

/** What it says, but for what stands on the row below it. */
export function withoutMend(error: Denied): string {
  return error.message.replace(` To mend it: ${mendOf(error)}.`, "");
}

function mendOf({ extra }: Denied): string | null {
  return typeof extra["mend"] === "string" ? extra["mend"] : null;
}

/** The home and its files belong to one user alone. */
export function examineHome(home: string): readonly Examined[] {
  const folder = modeOf(home);
  if (folder === null) return [{ name: "home", state: "warning", detail: `${home} is not there yet`, mend: "gw init" }];
  const rows: Examined[] = [modeRow(`home ${home}`, home, folder, 0o700)];
  for (const file of ["vault.json", "policy.json", "config.yaml", "state.db"]) {
    const path = join(home, file);
    const mode = modeOf(path);
    if (mode === null) continue;
    const row = modeRow(file, path, mode, 0o600);
    rows.push(file === "state.db" && row.state === "ok" && isDamagedFile(path) === true ? damagedRow(file) : row);
  }
  return rows;
}

function damagedRow(name: string): Examined {
  return {
    name,
    state: "missing",
    detail: "a page of it is damaged, or it is no SQLite database: no gateway starts with it, and one that runs stops",
    mend: "with the gateway stopped, move state.db, state.db-wal and state.db-shm away and keep them; then gw restore FILE, or without a backup gw restore --as-found",
  };
}

function modeRow(name: string, path: string, mode: number, wanted: number): Examined {
  const open = (mode & ~wanted & 0o777) !== 0;
  return {
    name,
    state: open ? "missing" : "ok",
    detail: open ? `mode ${mode.toString(8)}: others could read or change it` : `mode ${mode.toString(8)}`,
    mend: open ? `chmod ${wanted.toString(8)} ${path}` : null,
  };
}

function modeOf(path: string): number | null {
  try {
    accessSync(path, constants.F_OK);
    return lstatSync(path).mode & 0o777;
  } catch {
    return null;
  }
}

function atLeast(version: string, floor: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major > floor[0] || (major === floor[0] && minor >= floor[1]);
}

function firstLine(text: string): string {
  return text.split("\n")[0]?.trim() ?? "";
}
