import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BoxPlan, type BoxTier, portsOf } from "../../../../conventions/box/plan.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { installation } from "../../../../kernel/installation.ts";
import { boxCommand, openBox } from "./open.ts";
import { neither } from "./unavailable.ts";

const SAID_CHARACTERS = 4_096;

/** Any box: nothing is run in it. */
const plainPlan = (): BoxPlan => ({
  tier: "transparent",
  folder: "/usr",
  ...{ write: [], read: programFolders(), cover: ["/tmp", "/run"], hide: [], ports: portsOf([]), sockets: [] },
  ...{ certificate: "", subjectHash: "0", truststore: "", command: [], env: {} },
});

/** A box that this machine gives, and why it is not the first tier where it is not. */
export interface GivenBox {
  readonly tier: BoxTier;
  readonly lacks: Denied | null;
}

/** The best box that there is here: each tier is built and thrown away. Denied `contain_unavailable` says what the machine lacks. */
export async function chooseBox(plan: BoxPlan = plainPlan()): Promise<GivenBox> {
  const first = await lackOf(plan, "transparent");
  if (first === null) return { tier: "transparent", lacks: null };
  // It ends where a socket that it is to cover has gone since it was looked at, and is looked at anew, once.
  const second = (await lackOf(plan, "bubblewrap")) && (await lackOf(plan, "bubblewrap"));
  if (second === null) return { tier: "bubblewrap", lacks: first };
  throw neither(first, second);
}

async function lackOf(plan: BoxPlan, tier: BoxTier): Promise<Denied | null> {
  try {
    await build({ ...plan, tier });
    return null;
  } catch (error) {
    if (error instanceof Denied) return error;
    throw error;
  }
}

async function build(plan: BoxPlan): Promise<void> {
  const [name = "", ...rest] = boxCommand(plan);
  const child = spawn(name, rest, {
    env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-SAID_CHARACTERS);
  });
  const ended = new Promise<void>(
    (resolve) => void child.once("close", () => resolve()).once("error", () => resolve()),
  );
  try {
    const { sockets } = await openBox(child, plan, () => said);
    for (const socket of Object.values(sockets).flat()) socket.close();
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
}

/** What has to be there to be read inside: `gw` itself and the Node that runs it. */
export function programFolders(): readonly string[] {
  const places = [installation, join(installation, "node_modules"), dirname(realpathSync(process.execPath))];
  return [...new Set(places.map((place) => realpathSync(place)))];
}
