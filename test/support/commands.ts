import { type ChildProcess, fork } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Exited } from "./home.ts";

/**
 * The few commands of `gw` that prepare a test: a home, its credential and pack, an approval. A start of the program takes ten
 * times as long as what they do, so these share a process (fixtures/commands.mjs) that has the program loaded.
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

const idle = new Map<string, Player[]>();

/** Plays a command, in an idle process if there is one: two at once are two processes. */
export async function playCommand(gw: string, order: Order, keep: (child: ChildProcess) => void): Promise<Exited> {
  const player = idle.get(gw)?.pop() ?? startPlayer(gw, order, keep);
  const exited = await player.play(order);
  idle.set(gw, [...(idle.get(gw) ?? []), player]);
  return exited;
}

function startPlayer(gw: string, { env, folder }: Order, keep: (child: ChildProcess) => void): Player {
  const child = fork(join(import.meta.dirname, "..", "fixtures", "commands.mjs"), [mainOf(gw)], {
    execArgv: ["--disable-sigusr1", "--disable-warning=ExperimentalWarning"],
    detached: true,
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    cwd: folder,
    env,
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
      gw,
      (idle.get(gw) ?? []).filter((one) => one !== player),
    ),
  );
  return player;
}

/** The file that the launcher would start. */
function mainOf(gw: string): string {
  const root = dirname(dirname(realpathSync(gw)));
  const source = join(root, "src", "programs", "gw.ts");
  return existsSync(source) ? source : join(root, "dist", "programs", "gw.js");
}
