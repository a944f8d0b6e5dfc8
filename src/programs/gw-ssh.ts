import { spawn } from "node:child_process";
import { closeSync, fstatSync } from "node:fs";
import { Socket } from "node:net";
import { type ClientOrder, clientArguments, findUnsoundPlan } from "../conventions/ssh/client-options.ts";

/**
 * gw-ssh: one connection by the system's OpenSSH client. It holds no key and no payload: the client inherits the
 * gateway's pipes, the key stays behind the gateway's agent socket. It waits for one order, starts the client with every
 * option pinned and an empty environment, reports how it ended, and ends it when the gateway goes away.
 */
const GATEWAY = 3;
const ORDER_BYTES_MAX = 8_192;

if (!isSocket(GATEWAY)) refuse("this program is started by the gateway for one connection. Use: gw call ACTION");
const gateway = new Socket({ fd: GATEWAY, readable: true, writable: true });
let endClient = (): void => process.exit(0);
let heard = "";
gateway.on("error", () => endClient());
gateway.on("close", () => endClient());
gateway.on("data", listen);

function listen(chunk: Buffer): void {
  heard += chunk.toString("utf8");
  const end = heard.indexOf("\n");
  if (end < 0 && heard.length <= ORDER_BYTES_MAX) return;
  gateway.off("data", listen);
  gateway.resume();
  const order = readOrder(heard.slice(0, Math.max(end, 0)));
  if (order === undefined || findUnsoundPlan(order.plan) !== undefined) refuse("the order cannot be followed");
  else follow(order);
}

function follow(order: ClientOrder): void {
  const client = spawn(order.sshPath, clientArguments(order.plan), { stdio: "inherit", env: {}, cwd: order.folder });
  // The pipes are the client's now: when it ends, the gateway must see their end, not ours.
  for (const fd of [0, 1, 2]) closeSync(fd);
  const report = (words: object) => gateway.end(`${JSON.stringify(words)}\n`, () => process.exit(0));
  endClient = () => {
    client.kill("SIGKILL");
  };
  client.on("error", (error: NodeJS.ErrnoException) => report({ error: error.code ?? "unknown" }));
  client.on("exit", (status, signal) => report({ status, signal }));
}

function readOrder(text: string): ClientOrder | undefined {
  try {
    return JSON.parse(text) as ClientOrder;
  } catch {
    return undefined;
  }
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    return false;
  }
}

function refuse(why: string): never {
  process.stderr.write(`gw-ssh: ${why}\n`);
  process.exit(2);
}
