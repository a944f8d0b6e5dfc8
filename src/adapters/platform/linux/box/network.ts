import { createSocket, type Socket } from "node:dgram";
import { existsSync, readSync, writeSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { loadLibc } from "../libc.ts";
import { must, StepRefused } from "./step.ts";

const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_DGRAM = 2;
const SOCK_RAW = 3;
const SIOCGIFFLAGS = 0x8913;
const SIOCSIFFLAGS = 0x8914;
const IFF_UP = 1;
const RTM_NEWROUTE = 24;
/** A request that creates, does not replace, and is answered. */
const NLM_CREATE = 0x605;
const TABLE_LOCAL = 255;
const PROTOCOL_BOOT = 3;
const SCOPE_HOST = 254;
const ROUTE_LOCAL = 2;
const RTA_OIF = 4;
const LOOPBACK = 1;
const BACKLOG = 511;

/** Of a network that has nothing yet: loopback, and every address in the world is this machine's own. */
export function raiseLoopback(): void {
  const libc = loadLibc();
  const fd = must(libc.socket(AF_INET, SOCK_DGRAM, 0), "socket");
  const request = Buffer.alloc(40);
  request.write("lo");
  must(libc.ioctl(fd, SIOCGIFFLAGS, request), "read the flags of lo");
  request.writeInt16LE(request.readInt16LE(16) | IFF_UP, 16);
  must(libc.ioctl(fd, SIOCSIFFLAGS, request), "raise lo");
  libc.close(fd);
  addLocalRoute(AF_INET);
  if (hasSixth()) addLocalRoute(AF_INET6);
}

function hasSixth(): boolean {
  return existsSync("/proc/self/net/if_inet6");
}

function addLocalRoute(family: number): void {
  const libc = loadLibc();
  const fd = must(libc.socket(AF_NETLINK, SOCK_RAW, 0), "netlink socket");
  const message = Buffer.alloc(36);
  message.writeUInt32LE(message.length, 0);
  message.writeUInt16LE(RTM_NEWROUTE, 4);
  message.writeUInt16LE(NLM_CREATE, 6);
  message.writeUInt32LE(1, 8);
  message.set([family, 0, 0, 0, TABLE_LOCAL, PROTOCOL_BOOT, family === AF_INET ? SCOPE_HOST : 0, ROUTE_LOCAL], 16);
  message.writeUInt16LE(8, 28);
  message.writeUInt16LE(RTA_OIF, 30);
  message.writeUInt32LE(LOOPBACK, 32);
  writeSync(fd, message);
  const answer = Buffer.alloc(512);
  readSync(fd, answer);
  const error = answer.readInt32LE(16);
  libc.close(fd);
  if (error !== 0) throw new StepRefused(`route every address of family ${family} to lo`, `errno ${-error}`);
}

export function listenTcp(port: number): Promise<Server> {
  return listening(createServer(), { port, host: hasSixth() ? "::" : "0.0.0.0", backlog: BACKLOG });
}

export function listenLoopback(port: number): Promise<Server> {
  return listening(createServer(), { port, host: "127.0.0.1", backlog: BACKLOG });
}

export function listenPath(path: string): Promise<Server> {
  return listening(createServer(), { path, backlog: BACKLOG });
}

export async function listenUdp(port: number): Promise<Socket> {
  const socket = createSocket(hasSixth() ? "udp6" : "udp4");
  await new Promise<void>((resolve, reject) => {
    socket.once("error", reject);
    socket.bind(port, hasSixth() ? "::" : "0.0.0.0", resolve);
  });
  return socket;
}

function listening(server: Server, where: Parameters<Server["listen"]>[0] & object): Promise<Server> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => resolve(server));
  });
}
