import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Exited, Identity } from "./home.ts";
import { whole } from "./whole.ts";

/**
 * Commands of `gw` that say one thing and end. A start of the program takes ten times as long as what they do, so they share a process
 * (fixtures/commands.mjs) that has the program loaded.
 */
interface Player {
  play(order: Order): Promise<Exited>;
}

interface Order {
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly input: string;
  readonly folder: string;
}

/** Whose process it is; a command that drops to a user with groups of its own comes before it. */
interface Runner {
  readonly identity?: Identity | undefined;
  readonly prefix?: readonly string[];
}

/**
 * Commands that need a process of their own: those that serve, stay at a terminal or start programs, the callers, whom the gateway
 * knows by their process, and those that look at the process that they are.
 */
const ALONE = new Set([
  ...["up", "demo", "reference", "conformance", "watch", "console", "keeper"],
  ...["actions", "call", "execute", "mcp", "plan", "run"],
  ...["login", "logout", "connect", "doctor", "install", "uninstall", "setup-shell"],
]);

export function sharesProcess([command = ""]: readonly string[]): boolean {
  return !whole && /^[a-z]/.test(command) && !ALONE.has(command);
}

const idle = new Map<string, Player[]>();

/** Plays a command, in an idle process if there is one: two at once are two processes. */
export async function playCommand(
  gw: string,
  order: Order,
  keep: (child: ChildProcess) => void,
  as: Runner = {},
): Promise<Exited> {
  const kind = JSON.stringify([gw, as]);
  const player = idle.get(kind)?.pop() ?? startPlayer(kind, gw, order, keep, as);
  const exited = await player.play(order);
  idle.set(kind, [...(idle.get(kind) ?? []), player]);
  return exited;
}

function startPlayer(
  kind: string,
  gw: string,
  { env, folder }: Order,
  keep: (child: ChildProcess) => void,
  { prefix = [], identity }: Runner,
): Player {
  const program = join(import.meta.dirname, "..", "fixtures", "commands.mjs");
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
    play: (order) =>
      new Promise((resolve, reject) => {
        const ended = (code: number | null, signal: string | null): void =>
          reject(new Error(`gw ${order.args.join(" ")}: its process ended (${code ?? signal})`));
        child.once("exit", ended);
        child.channel?.ref();
        child.once("message", (exited) => {
          child.off("exit", ended);
          child.channel?.unref();
          resolve(exited as Exited);
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
export function programOf(gw: string, name: "gw" | "gateway"): string {
  const root = dirname(dirname(realpathSync(gw)));
  const source = join(root, "src", "programs", `${name}.ts`);
  return existsSync(source) ? source : join(root, "dist", "src", "programs", `${name}.js`);
}
