import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";

/** A server of this user's own on a loopback port, with a configuration and a host key in one folder. */
export interface PrivateSshd {
  readonly port: number;
  readonly user: string;
  /** `TYPE BASE64` */
  readonly hostKey: string;
  readonly pid: number;
  /** The file that says which keys may do what. */
  readonly authorizedKeys: string;
  /** Ends every connection without a word, and leaves alone what runs behind it. */
  cut(): void;
  stop(): Promise<void>;
}

export interface SshdChoice {
  readonly hostKeyType?: "ed25519" | "ecdsa" | "rsa";
  /** More lines of its configuration. */
  readonly lines?: readonly string[];
}

export const SSHD = "/usr/sbin/sshd";
export const SSH = "/usr/bin/ssh";
const KEYGEN = "/usr/bin/ssh-keygen";
const SHELLS = ["/bin/sh", "/bin/bash", "/bin/dash", "/bin/zsh", "/usr/bin/bash", "/usr/bin/zsh"];
const LOOKS = 100;
const LOOK_MS = 50;

/** Why no server of our own can run here; null when one can. */
export function missingForSshd(): string | null {
  if (process.platform !== "linux") return "SSH actions need Linux";
  for (const [path, debian] of [
    [SSHD, "openssh-server"],
    [SSH, "openssh-client"],
    [KEYGEN, "openssh-client"],
  ] as const) {
    if (!existsSync(path)) return `${path} is absent (apt-get install ${debian})`;
  }
  return hasAccount() ? null : "this user has no account with a plain shell in the password file";
}

/** The folder must be private and its path free of spaces. */
export async function startSshd(folder: string, choice: SshdChoice = {}): Promise<PrivateSshd> {
  const at = (name: string) => join(folder, name);
  const { hostKeyType = "ed25519" } = choice;
  // As small as a server takes it: it lives as long as the folder.
  const size = hostKeyType === "rsa" ? ["-b", "2048"] : [];
  spawnSync(KEYGEN, ["-q", "-N", "", "-t", hostKeyType, ...size, "-f", at("host_key")]);
  const hostKey = readFileSync(at("host_key.pub"), "utf8").split(" ").slice(0, 2).join(" ").trim();
  const port = await freePort();
  const lines = [
    `Port ${port}`,
    "ListenAddress 127.0.0.1",
    `HostKey ${at("host_key")}`,
    `AuthorizedKeysFile ${at("authorized_keys")}`,
    "PermitRootLogin forced-commands-only",
    "UsePAM no",
    "StrictModes no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    "PidFile none",
    "MaxStartups 100",
    "LogLevel ERROR",
    "Subsystem sftp internal-sftp",
    ...(choice.lines ?? []),
  ];
  writeFileSync(at("authorized_keys"), "", { mode: 0o600 });
  const config = at("sshd_config");
  // Newer servers punish an address for failed logins; ours all come from one. Older ones do not know the word.
  writeFileSync(config, `${[...lines, "PerSourcePenalties no"].join("\n")}\n`, { mode: 0o600 });
  if (spawnSync(SSHD, ["-t", "-f", config]).status !== 0) writeFileSync(config, `${lines.join("\n")}\n`);
  const [program = "", ...args] = [...inOwnNamespace(), SSHD, "-D", "-e", "-f", config];
  const sshd = spawn(program, args, { stdio: ["ignore", "ignore", "pipe"] });
  const pid = sshd.pid ?? 0;
  let said = "";
  sshd.stderr.on("data", (chunk: Buffer) => {
    said = `${said}${chunk.toString("latin1")}`.slice(-400);
  });
  const stop = () => end(sshd);
  for (let look = 0; look < LOOKS; look++) {
    if (await isListening(port)) {
      const { username: user } = userInfo();
      return { port, user, hostKey, pid, authorizedKeys: at("authorized_keys"), cut: () => cutBelow(pid), stop };
    }
    if (sshd.exitCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
  await stop();
  throw new Error(`sshd did not start: ${said.replaceAll(/[^\x20-\x7e]+/g, " ").trim()}`);
}

/** As root a server insists on a folder of the system's; one that is not there is shown to this server alone. */
function inOwnNamespace(): readonly string[] {
  if (process.getuid?.() !== 0 || existsSync("/run/sshd")) return [];
  const script = 'mount -t tmpfs -o mode=0755 tmpfs /run && mkdir -m 0755 /run/sshd && exec "$@"';
  return ["/usr/bin/unshare", "--mount", "--propagation=private", "/bin/sh", "-c", script, "sh"];
}

/** A connection is a monitor and, below it, a process that holds the socket; what they started has another name. */
function cutBelow(pid: number): void {
  const children = ofProcess(pid, `task/${pid}/children`).trim().split(" ");
  for (const child of children.filter((one) => one !== "").map(Number)) {
    if (!ofProcess(child, "comm").startsWith("sshd")) continue;
    cutBelow(child);
    try {
      process.kill(child, "SIGKILL");
    } catch {
      // It ended with what it held together: the connection is cut all the same.
    }
  }
}

/** Empty once the process is gone. */
function ofProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

async function end(sshd: ChildProcess): Promise<void> {
  if (sshd.exitCode !== null || sshd.signalCode !== null) return;
  const gone = new Promise((resolve) => sshd.once("exit", resolve));
  sshd.kill("SIGTERM");
  await gone;
}

function hasAccount(): boolean {
  try {
    return SHELLS.includes(userInfo().shell ?? "");
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
