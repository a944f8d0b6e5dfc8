import { spawn } from "node:child_process";
import { realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { type BoxPlan, portsOf } from "../../../../conventions/box/plan.ts";
import { boxCommand, openBox } from "./open.ts";

const SAID_CHARACTERS = 4_096;

/** Any box: nothing is run in it. */
const plainPlan: BoxPlan = {
  folder: "/usr",
  ...{ write: [], read: [], cover: ["/tmp", "/run"], hide: [], ports: portsOf([]), sockets: [] },
  ...{ certificate: "", subjectHash: "0", truststore: "", command: [], env: {} },
};

/** Builds a box and throws it away. Denied `contain_unavailable` says what this machine lacks. */
export async function probeBox(plan: BoxPlan = plainPlan): Promise<void> {
  const [name = "", ...rest] = boxCommand();
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
  const root = join(import.meta.dirname, "../../../../..");
  return [
    ...new Set([realpathSync(root), realpathSync(join(root, "node_modules")), dirname(realpathSync(process.execPath))]),
  ];
}
