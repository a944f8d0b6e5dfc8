import type { SendHandle } from "node:child_process";
import { closeBox, giveAwayRights } from "../adapters/platform/linux/box/confine.ts";
import { layFolders, layTrust } from "../adapters/platform/linux/box/folders.ts";
import {
  listenLoopback,
  listenPath,
  listenTcp,
  listenUdp,
  raiseLoopback,
} from "../adapters/platform/linux/box/network.ts";
import { StepRefused } from "../adapters/platform/linux/box/step.ts";
import {
  type BoxPlan,
  type BoxSocket,
  boxAgentSocket,
  boxProxyPort,
  type StageMessage,
} from "../conventions/box/plan.ts";

/**
 * The stage of a contained run: process 1 of fresh namespaces. In the first tier it has every right over them and none outside, and
 * builds the box; in the second bubblewrap has built it, and it has none. It hands the listening sockets to the wrapper, closes the
 * box for good and becomes a shell that waits for the command. Started by `gw run --contain` and by nobody else.
 */
const COMMAND = '"$@"; exit $?';

type Handle = SendHandle;

try {
  const plan = (await nextMessage()) as BoxPlan;
  if (plan.tier === "transparent") await build(plan);
  else await settleIn(plan);
  await give("agent", await listenPath(boxAgentSocket));
  process.chdir(plan.folder);
  const go = nextMessage();
  await tell({ kind: "ready" });
  await go;
  process.disconnect();
  if (plan.tier === "transparent") giveAwayRights();
  closeBox(plan);
  process.execve?.("/bin/sh", ["sh", "-c", COMMAND, "sh", ...plan.command], { ...plan.env });
} catch (error) {
  const { what, code } = error instanceof StepRefused ? error : { what: String(error), code: "" };
  if (process.connected) await tell({ kind: "failed", what, code });
  else console.error(`gw run: the box could not be closed (${what}); nothing was started.`);
}
process.exit(1);

async function build(plan: BoxPlan): Promise<void> {
  raiseLoopback();
  for (const { scheme, port } of plan.ports) await give(scheme, await listenTcp(port));
  await give("dns", await listenUdp(53));
  layFolders(plan);
}

async function settleIn(plan: BoxPlan): Promise<void> {
  layTrust(plan);
  await give("proxy", await listenLoopback(boxProxyPort));
}

function nextMessage(): Promise<unknown> {
  return new Promise((resolve, reject) => {
    process.once("message", resolve);
    process.once("disconnect", () => reject(new Error("the wrapper is gone")));
  });
}

function give(socket: BoxSocket, handle: Handle): Promise<void> {
  return tell({ kind: "socket", socket }, handle);
}

function tell(message: StageMessage, handle?: Handle): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send?.(message, handle, { keepOpen: false }, (error) => (error === null ? resolve() : reject(error)));
  });
}
