import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { type ClientPlan, clientArguments, findUnsoundPlan } from "../conventions/ssh/client-options.ts";

/**
 * gw-ssh: one connection by the system's OpenSSH client. It holds no key and no payload: the client inherits the
 * gateway's pipes, the key stays behind the gateway's agent socket in the current folder. It starts the client with every
 * option pinned and an empty environment, reports how it ended, and ends it when the gateway goes away.
 */
const REPORTS = 3;

const [, , sshPath, planText] = process.argv;
const plan = readPlan(planText);
if (sshPath === undefined || plan === undefined || findUnsoundPlan(plan) !== undefined) {
  process.stderr.write("gw-ssh: this program is started by the gateway for one connection. Use: gw call ACTION\n");
  process.exit(2);
}

const reports = new Socket({ fd: REPORTS, readable: true, writable: true });
const client = spawn(sshPath, clientArguments(plan), { stdio: ["inherit", "inherit", "inherit"], env: {} });
// The pipes are the client's now: when it ends, the gateway must see their end, not ours.
for (const fd of [0, 1, 2]) closeSync(fd);

reports.on("error", () => endClient(client));
reports.on("close", () => endClient(client));
reports.resume();
client.on("spawn", () => reports.write(`${JSON.stringify({ ssh: client.pid })}\n`));
client.on("error", (error: NodeJS.ErrnoException) => finish({ error: error.code ?? "unknown" }));
client.on("exit", (status, signal) => finish({ status, signal }));

function finish(report: object): void {
  reports.end(`${JSON.stringify(report)}\n`, () => process.exit(0));
}

function endClient(process_: ChildProcess): void {
  if (process_.exitCode === null && process_.signalCode === null) process_.kill("SIGKILL");
}

function readPlan(text: string | undefined): ClientPlan | undefined {
  try {
    return JSON.parse(text ?? "") as ClientPlan;
  } catch {
    return undefined;
  }
}
