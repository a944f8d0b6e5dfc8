import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLinuxCallers } from "../src/adapters/platform/linux/callers.ts";
import { createEvidenceReader } from "../src/adapters/platform/linux/evidence.ts";
import { listenVerified } from "../src/adapters/platform/linux/listener.ts";
import type { LiveCaller } from "../src/conventions/caller/port.ts";
import { type Bench, median, rate } from "./bench.ts";

const CONNECTIONS = 64;
const ROUND_MS = 1_500;
const ROUNDS = 5;

/** Keeps one request in flight on each connection and prints how many were answered in the time given. */
const CLIENT = `
const net = require("node:net");
const [path, connections, ms] = process.argv.slice(1);
const request = "POST /v1/echo HTTP/1.1\\r\\nHost: gw\\r\\nContent-Type: application/json\\r\\nContent-Length: 13\\r\\n\\r\\n{\\"a\\":\\"hello\\"}";
let answered = 0;
let counting = false;
for (let index = 0; index < Number(connections); index++) {
  const socket = net.connect(path, () => socket.write(request));
  socket.on("data", () => { if (counting) answered++; socket.write(request); });
}
setTimeout(() => { counting = true; }, 300);
setTimeout(() => { console.log(answered); process.exit(0); }, 300 + Number(ms));
`;

/** What it costs to know the writer of every byte, and to look at the caller before every operation. */
export const bench: Bench = {
  name: "caller",
  async run(emit) {
    if (process.platform !== "linux") return;
    const folder = mkdtempSync(join(tmpdir(), "gw-"));
    const callers = createLinuxCallers({
      readEvidence: createEvidenceReader(() => ({ enrolled: new Map(), sigstore: null, imaKeys: [] })),
    });
    try {
      const plain = createEcho();
      await new Promise<void>((resolve) => plain.listen(join(folder, "plain.sock"), resolve));
      const verified = createEcho();
      let held: LiveCaller | undefined;
      const listener = listenVerified({
        path: join(folder, "verified.sock"),
        mode: 0o600,
        callers,
        accept: (connection, caller) => {
          caller.then(
            (found) => {
              if (connection.destroyed) found.close();
              else connection.once("close", () => found.close());
              held ??= found.retain();
            },
            () => connection.destroy(),
          );
          verified.emit("connection", connection);
        },
      });
      const rates: Record<"plain" | "verified", number[]> = { plain: [], verified: [] };
      for (let round = 0; round < ROUNDS; round++) {
        for (const name of ["plain", "verified"] as const) rates[name].push(await load(join(folder, `${name}.sock`)));
      }
      const [ours, theirs] = [median(rates.verified), median(rates.plain)];
      emit({
        case: `small requests, ${CONNECTIONS} connections, writer verified`,
        value: ours,
        unit: "req/s",
        beside: `plain net sockets, ${Math.round(theirs)} req/s`,
        ratio: ours / theirs,
      });
      held?.close();
      listener.close();
      plain.close();
      await measureCheck(folder, callers, emit);
    } finally {
      callers.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function measureCheck(
  folder: string,
  callers: ReturnType<typeof createLinuxCallers>,
  emit: Parameters<Bench["run"]>[0],
): Promise<void> {
  const path = join(folder, "check.sock");
  let child: ChildProcess | undefined;
  const caller = await new Promise<LiveCaller>((resolve, reject) => {
    const listener = listenVerified({
      path,
      mode: 0o600,
      callers,
      accept: (connection, identified) => {
        listener.close();
        identified.then(resolve, reject);
        connection.resume();
      },
    });
    child = spawn(process.execPath, ["-e", "require('node:net').connect(process.argv[1])", path], { stdio: "ignore" });
  });
  const checks = rate(() => caller.check());
  const nothing = rate(() => process.hrtime.bigint());
  emit({
    case: "looks at a live caller before an operation",
    value: 1e6 / checks,
    unit: "us",
    beside: "one reading of the clock",
    ratio: nothing / checks,
  });
  caller.close();
  child?.kill("SIGKILL");
}

function createEcho(): Server {
  return createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      const body = '{"answer":"hello"}';
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
      response.end(body);
    });
  });
}

function load(path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const client = spawn(process.execPath, ["-e", CLIENT, path, String(CONNECTIONS), String(ROUND_MS)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let text = "";
    client.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    client.on("error", reject);
    client.on("close", () => resolve(Number(text) / (ROUND_MS / 1_000)));
  });
}
