import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { dirname, join } from "node:path";

/**
 * Processes that have `gw` loaded and play its commands one after another (test/fixtures/commands.mjs). A command that is played the
 * second time takes a third of the first time, so a run lends its players to all test files that stand where it does.
 */
export interface Order {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly input: string;
  readonly folder: string;
}

export interface Played {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Whose process it is; a command that drops to a user with groups of its own comes before it. */
export interface Runner {
  readonly identity?: { readonly uid: number; readonly gid: number } | undefined;
  readonly prefix?: readonly string[];
}

interface Player {
  readonly child: ChildProcess;
  played: number;
  play(order: Order): Promise<Played>;
}

/** Every command leaves half a megabyte behind. */
const MOST_PLAYED = 300;
/** Where a run lends its players: a socket, the program that they play, and where they stand. */
const LENT = "GW_TEST_PLAYERS";
const LONGEST_NAME = 100;
const idle = new Map<string, Player[]>();

/** Plays a command, in an idle process if there is one: two at once are two processes. */
export async function playCommand(
  gw: string,
  order: Order,
  keep: (child: ChildProcess) => void,
  as: Runner = {},
): Promise<Played> {
  const lent = as.identity === undefined && as.prefix === undefined ? lentAt(gw) : undefined;
  return lent === undefined ? playHere(gw, order, keep, as) : askLent(lent, order);
}

/** Lends players to whatever this process starts from now on, in a folder that only its user enters. They end with this process. */
export async function lendPlayers(gw: string, below: string): Promise<void> {
  const folder = mkdtempSync(join(below, "gw-players-"));
  const socket = join(folder, "socket");
  // Each file has players of its own where nobody could tell who stands here, or a socket's name would be too long.
  if (standing() === "" || socket.length > LONGEST_NAME) return;
  const children = new Set<ChildProcess>();
  process.once("exit", () => {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  const keep = (child: ChildProcess): void => {
    children.add(child);
    child.once("exit", () => children.delete(child));
  };
  const server = createServer((asking) => void answer(asking, gw, keep)).unref();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  process.env[LENT] = JSON.stringify([gw, standing(), socket]);
}

async function answer(asking: Socket, gw: string, keep: (child: ChildProcess) => void): Promise<void> {
  asking.on("error", () => undefined);
  try {
    const order = JSON.parse(await readLine(asking)) as Order;
    const left = new AbortController();
    asking.once("close", () => left.abort());
    const exited = await playHere(gw, order, keep, {}, left.signal);
    asking.end(`${JSON.stringify(exited)}\n`);
  } catch (error) {
    asking.end(`${JSON.stringify({ lost: String(error) })}\n`);
  }
}

async function askLent(socket: string, order: Order): Promise<Played> {
  const asking = connect(socket);
  asking.write(`${JSON.stringify(order)}\n`);
  const told = JSON.parse(await readLine(asking)) as Played & { readonly lost?: string };
  if (told.lost !== undefined) throw new Error(told.lost);
  return told;
}

function readLine(from: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    from.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      if (text.endsWith("\n")) resolve(text);
    });
    from.once("error", reject).once("close", () => reject(new Error("whoever was asked for a command is gone")));
  });
}

/** The socket, where this process stands where the players do: what a command finds there, it finds here. */
export function lentAt(gw: string): string | undefined {
  const lent = process.env[LENT];
  if (lent === undefined) return undefined;
  const [program, where, socket] = JSON.parse(lent) as readonly [string, string, string];
  return program === gw && where === standing() && existsSync(socket) ? socket : undefined;
}

/** Whose process this is, what it sees and what it may use. */
function standing(): string {
  const own = "/proc/self";
  if (!existsSync(own)) return "";
  const views = readdirSync(`${own}/ns`).map((name) => readlinkSync(`${own}/ns/${name}`));
  const users = [process.getuid?.(), process.geteuid?.(), process.getgid?.(), ...(process.getgroups?.() ?? [])];
  const bounds = ["limits", "cgroup"].map((name) => readFileSync(`${own}/${name}`, "utf8"));
  return JSON.stringify([users, views, bounds]);
}

async function playHere(
  gw: string,
  order: Order,
  keep: (child: ChildProcess) => void,
  as: Runner,
  left?: AbortSignal,
): Promise<Played> {
  const kind = JSON.stringify([gw, as]);
  const player = idle.get(kind)?.pop() ?? startPlayer(kind, gw, order, keep, as);
  // What nobody waits for any more must not go on beside the next test.
  const end = (): void => void player.child.kill("SIGKILL");
  left?.addEventListener("abort", end);
  const exited = await player.play(order);
  left?.removeEventListener("abort", end);
  player.played++;
  if (player.played < MOST_PLAYED) idle.set(kind, [...(idle.get(kind) ?? []), player]);
  else end();
  return exited;
}

function startPlayer(
  kind: string,
  gw: string,
  { env, folder }: Order,
  keep: (child: ChildProcess) => void,
  { prefix = [], identity }: Runner,
): Player {
  const program = join(import.meta.dirname, "..", "..", "test", "fixtures", "commands.mjs");
  const node = [process.execPath, "--disable-sigusr1", "--disable-warning=ExperimentalWarning"];
  const [command = "", ...args] = [...prefix, ...node, program, programOf(gw, "gw")];
  const child = spawn(command, args, {
    detached: true,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    cwd: folder,
    env,
    ...identity,
  });
  keep(child);
  child.unref();
  child.channel?.unref();
  const player: Player = {
    child,
    played: 0,
    play: (order) =>
      new Promise((resolve, reject) => {
        const ended = (code: number | null, signal: string | null): void =>
          reject(new Error(`gw ${order.args.join(" ")}: its process ended (${code ?? signal})`));
        child.once("exit", ended);
        child.channel?.ref();
        child.once("message", (exited) => {
          child.off("exit", ended);
          child.channel?.unref();
          resolve(exited as Played);
        });
        child.send(order);
      }),
  };
  child.once("exit", () =>
    idle.set(
      kind,
      (idle.get(kind) ?? []).filter((one) => one !== player),
    ),
  );
  return player;
}

/** The file that the launcher starts, or a program starts that it started. */
export function programOf(gw: string, name: "gw" | "gateway" | "gw-ssh" | "start"): string {
  const root = dirname(dirname(realpathSync(gw)));
  const source = join(root, "src", "programs", `${name}.ts`);
  return existsSync(source) ? source : join(root, "dist", "src", "programs", `${name}.js`);
}
