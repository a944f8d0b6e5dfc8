import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { call, demoPack, Home, makeFolder, openPlane, openRun, type Started, start } from "../test/support/home.ts";
import { startProvider } from "../test/support/provider.ts";

/** The floods of docs/threat-model.md for SOAK_SECONDS (180): operators are answered throughout, nothing is lost, the disk stays bounded. */
const SECONDS = Number(process.env["SOAK_SECONDS"] ?? 180);

/** Connects again and again and says nothing, or the beginning of a head; never holds more than `count`. */
const CONNECTIONS = `
const { connect } = require("node:net");
const [path, count, text] = [process.argv[1], Number(process.argv[2]), process.argv[3]];
let made = 0;
const open = () => { const socket = connect(path); made++;
  socket.on("connect", () => { if (text) socket.write(text); });
  socket.on("error", () => undefined);
  socket.on("close", () => setTimeout(open, 20)); };
for (let index = 0; index < count; index++) open();
process.on("SIGTERM", () => { console.log(made); process.exit(0); });`;

/** Asks the same thing over and over, eight at a time. */
const REQUESTS = `
const http = require("node:http");
const [path, target, body] = process.argv.slice(1);
const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
let made = 0;
const ask = () => { const request = http.request({ socketPath: path, agent, method: "POST", path: target,
    headers: body ? { "content-type": "application/json", "content-length": Buffer.byteLength(body), prefer: "wait=0" } : {} },
    (answer) => { answer.resume(); answer.on("end", () => { made++; setTimeout(ask, 2); }); });
  request.on("error", () => setTimeout(ask, 20)); request.end(body || undefined); };
for (let index = 0; index < 8; index++) ask();
process.on("SIGTERM", () => { console.log(made); process.exit(0); });`;

/** MCP notifications as fast as they are taken, on four connections, each opened again when it is closed. */
const NOTIFICATIONS = `
const { connect } = require("node:net");
const line = JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1, progress: 1 } }) + "\\n";
let made = 0;
const open = () => { const socket = connect(process.argv[1]);
  const pour = () => { do made += 200; while (socket.write(line.repeat(200))); };
  socket.write("GET /mcp HTTP/1.1\\r\\nconnection: upgrade\\r\\nupgrade: gw-mcp\\r\\n\\r\\n");
  socket.once("data", () => { pour(); socket.on("drain", pour); });
  socket.on("error", () => undefined);
  socket.on("close", () => setTimeout(open, 20)); };
for (let index = 0; index < 4; index++) open();
process.on("SIGTERM", () => { console.log(made); process.exit(0); });`;

const provider = await startProvider();
const home = await new Home(makeFolder()).init();
await home.addCredential("demo-token", provider.origin);
await home.trustPack("demo", demoPack(provider.origin));
const gateway = await home.up();
const agent = openPlane(home.agentSocket);
const run = await openRun(home, agent, ["demo.thing.get"], { attempts: 10_000, duration_seconds: 3_600 });
const body = JSON.stringify({ purpose: "x".repeat(500), actions: ["demo.*"] });
const node = [process.execPath, "-e"];
const nobodys = `/v1/runs/run_${"0".repeat(26)}`;
const refused = JSON.stringify({ action: "demo.no.such", input: {} });
const large = JSON.stringify({
  origin: provider.origin,
  method: "GET",
  target: "/",
  headers: [],
  body: "A".repeat(100_000),
});
const floods: readonly (readonly [string, Started])[] = [
  ["silent agent connections", start([...node, CONNECTIONS, home.agentSocket, "2000", ""])],
  [
    "trickling operator connections",
    start([...node, CONNECTIONS, home.operatorSocket, "400", "GET /v1/status HTTP/1.1\r\nx-a: "]),
  ],
  ["login challenges", start([...node, REQUESTS, home.operatorSocket, "/v1/login/challenge", ""])],
  ["runs nobody approved", start([...node, REQUESTS, home.agentSocket, "/v1/runs", body])],
  ["calls that are refused", start([...node, REQUESTS, home.agentSocket, `${nobodys}/calls`, refused])],
  ["large bodies for nobody's run", start([...node, REQUESTS, home.agentSocket, `${nobodys}/requests`, large])],
  ["MCP notifications", start([...node, NOTIFICATIONS, home.agentSocket])],
];
const before = bytesOf(home.folder);
const stopAt = performance.now() + SECONDS * 1000;
const waited: number[] = [];
let calls = 0;
const lost: string[] = [];
let commands = 0;
for (let turn = 0; performance.now() < stopAt; turn++) {
  const began = performance.now();
  await asked("GET", "/v1/status");
  waited.push(performance.now() - began);
  const reply = await call(agent, run, "demo.thing.get", { id: `soak-${turn}` }).catch(() => null);
  if (reply?.body["outcome"] === "success") calls++;
  else lost.push(String(reply?.body["code"] ?? "no answer"));
  if (turn % 40 === 0) {
    await home.must(["sessions"]);
    commands++;
  }
  await pause(200);
}
const grown = bytesOf(home.folder) - before;
for (const [name, flood] of floods) {
  const { out } = await flood.end("SIGTERM");
  console.log(`${name.padEnd(32)} ${out.trim() || "?"}`);
}
waited.sort((a, b) => a - b);
const at = (part: number): string => (waited[Math.floor((waited.length - 1) * part)] ?? 0).toFixed(0);
const status = await home.status();
await home.must(["lock"]);
const verified = await home.verify();
console.log(
  `operators: ${waited.length} questions on new connections, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1)} ms; ${commands} commands with a login`,
);
console.log(
  `an approved agent: ${calls} calls answered, ${lost.length} not ${[...new Set(lost)].join(", ")}; stopped: ${String(status["stopped"])}; log verifies: ${verified.code === 0}`,
);
console.log(`disk: ${(grown / 1024).toFixed(0)} KiB in ${SECONDS} s, ${(grown / 1024 / SECONDS).toFixed(1)} KiB/s`);
agent.close();
await gateway.end();
await provider.close();
assert.deepEqual([status["stopped"], lost, verified.code], [null, [], 0]);

async function asked(method: string, path: string): Promise<void> {
  for (;;) {
    const plane = openPlane(home.operatorSocket, 1);
    try {
      await plane.ask(method, path);
      return;
    } catch {
      await pause(10);
    } finally {
      plane.close();
    }
  }
}

function bytesOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce(
      (sum, entry) => sum + (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
}
