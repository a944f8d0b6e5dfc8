import type { ChildProcess } from "node:child_process";
import type { Socket as Datagrams } from "node:dgram";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import type { Server } from "node:net";
import { dirname, join } from "node:path";
import type { BoxPlan, BoxSocket, StageMessage } from "../../../../conventions/box/plan.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { bubblewrapArguments } from "./bubblewrap.ts";
import { requirePlainStreams } from "./streams.ts";
import { mendFor, unavailable } from "./unavailable.ts";
import { type BoxProcess, descendants, findHolder } from "./who.ts";

/** What the stage handed out: sockets of the box, served out here. */
export interface BoxSockets {
  readonly https: readonly Server[];
  readonly http: readonly Server[];
  readonly agent: Server;
  /** One or none of each: the first tier answers for names, the second has a proxy. */
  readonly dns: readonly Datagrams[];
  readonly proxy: readonly Server[];
}

export interface OpenBox {
  readonly sockets: BoxSockets;
  /** Lets the command begin. */
  go(): void;
  /** To the command, past the shell that is process 1 in there: that one takes no signal. */
  signal(signal: NodeJS.Signals): void;
  findHolder(address: string, from: number, to: number): BoxProcess | null;
}

const STAGE = join(
  import.meta.dirname,
  "../../../../programs",
  `gw-box${import.meta.filename.endsWith(".ts") ? ".ts" : ".js"}`,
);
const FOLDERS = ["/usr/bin", "/bin", "/usr/local/bin"];

/** The command that makes the namespaces and starts the stage in them. It dies with whoever starts it, and the box with it. */
export function boxCommand(plan: BoxPlan): readonly string[] {
  if (process.getuid?.() === 0 || process.geteuid?.() === 0) {
    throw unavailable("root owns settings of the whole machine that a box cannot hide", "run gw as an ordinary user");
  }
  requirePlainStreams();
  const stage = [process.execPath, "--disable-sigusr1", "--disable-warning=ExperimentalWarning", STAGE];
  switch (plan.tier) {
    case "transparent":
      return [
        ...[findTool("setpriv", "util-linux"), "--pdeathsig", "KILL"],
        ...[findTool("unshare", "util-linux"), ...NAMESPACES, "--fork", "--kill-child", "--", ...stage],
      ];
    case "bubblewrap":
      return [findTool("bwrap", "bubblewrap"), ...bubblewrapArguments(plan), ...stage];
  }
}

const NAMESPACES = ["--user", "--map-current-user", "--keep-caps", "--net", "--mount", "--pid", "--ipc"];

/** Tells the stage what to build, and takes what it hands out. `said` is what the child has written to its standard error. */
export async function openBox(child: ChildProcess, plan: BoxPlan, said: () => string): Promise<OpenBox> {
  const given: [BoxSocket, Server | Datagrams][] = [];
  const building = new Promise<void>((resolve, reject) => {
    child.on("message", (said, handle) => {
      const message = said as StageMessage;
      if (message.kind === "socket") given.push([message.socket, handle as Server | Datagrams]);
      if (message.kind === "ready") resolve();
      if (message.kind === "failed")
        reject(unavailable(`the kernel refused "${message.what}" (${message.code})`, mendFor(message.code)));
    });
    child.once("error", (error) => reject(unavailable(error.message, null)));
    child.once("exit", () => reject(unavailable(lastLine(said()), mendFor(said()))));
    setTimeout(() => reject(unavailable("it was not ready in time", null)), defaults.boxReadyMs).unref();
  });
  child.send(plan, () => undefined);
  try {
    await building;
  } catch (error) {
    child.kill("SIGKILL");
    for (const [, socket] of given) socket.close();
    throw error;
  }
  const of = (name: BoxSocket) => given.filter(([each]) => each === name).map(([, socket]) => socket);
  const first = (): number => descendants(child.pid ?? 0)[0] ?? 0;
  return {
    sockets: {
      https: of("https") as Server[],
      http: of("http") as Server[],
      agent: of("agent")[0] as Server,
      dns: of("dns") as Datagrams[],
      proxy: of("proxy") as Server[],
    },
    go: () => void child.send("go", () => undefined),
    signal(signal) {
      const [shell = 0, command = shell] = descendants(child.pid ?? 0);
      if (command !== 0) process.kill(command, signal);
    },
    findHolder: (address, from, to) => findHolder(first(), address, from, to),
  };
}

/**
 * The outside's sockets that have a path; those inside have a network of their own. The kernel names a socket as it was bound, and it may
 * have another name since (OpenSSH makes its control sockets so): all that lie in the folder of one, or in one of these folders, count.
 */
export function outerSockets(folders: readonly string[]): readonly string[] {
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  const paths = lines.map((line) => line.trim().split(/\s+/).slice(7).join(" ")).filter((path) => path.startsWith("/"));
  const beside = [...new Set([...folders, ...paths.map((path) => dirname(path))])].flatMap(socketsIn);
  return [...new Set([...paths, ...beside])];
}

function socketsIn(folder: string): readonly string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isSocket()).map(({ name }) => join(folder, name));
  } catch {
    // Gone, or not to be read by this user: covered is what the kernel names.
    return [];
  }
}

function findTool(name: string, debian: string): string {
  const found = FOLDERS.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined) throw unavailable(`${name} is not installed`, `apt-get install ${debian}`);
  return found;
}

function lastLine(text: string): string {
  const line = text.trim().split("\n").at(-1) ?? "";
  return line === "" ? "it ended before it was ready" : line;
}
