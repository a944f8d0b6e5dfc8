import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type Bench, median } from "./bench.ts";
import { startApprover } from "./calls/approver.ts";
import { makeHome, TOKEN } from "./calls/home.ts";
import { measureSync } from "./sync.ts";

const root = join(import.meta.dirname, "..");
const ACTIONS = 200;
const ROUNDS = 5;
const CALLS = 120;
const LISTS = 20;

/** A client at the other end of a server's pipes: lines out, lines in, one request at a time. */
interface Line {
  request(method: string, params: object): Promise<object>;
}

/** A tool call through the bridge and the gateway, durable log on, beside the same tool on a bare SDK server. */
export const bench: Bench = {
  name: "mcp",
  async run(emit) {
    const children: ChildProcess[] = [];
    const provider = start(children, [join(root, "bench/calls/provider.ts")], ["ignore", "pipe", "inherit", "ipc"]);
    const origin = `http://127.0.0.1:${await firstLine(provider)}`;
    const home = await makeHome(origin, moreActions());
    let approver: ReturnType<typeof startApprover> | undefined;
    try {
      const gateway = start(
        children,
        [join(root, "src/programs/gateway.ts"), home.folder, "--key-file", home.keyFile],
        ["ignore", "pipe", "inherit"],
      );
      await firstLine(gateway);
      approver = startApprover(home);
      const ours = await openLine(
        spawnInto(children, join(root, "bin/gw"), ["mcp", "--home", home.folder, "--attempts", "10000"]),
      );
      const bareServer = [join(root, "bench/mcp-server.ts"), origin, TOKEN, String(ACTIONS)];
      const bare = await openLine(start(children, bareServer, ["pipe", "pipe", "inherit"]));
      const call = (line: Line) => line.request("tools/call", { name: "bench__thing-get", arguments: { id: "7" } });
      const list = (line: Line) => line.request("tools/list", {});
      const times = { ours: [] as number[], bare: [] as number[], ourLists: [] as number[], bareLists: [] as number[] };
      for (const line of [ours, bare]) for (let warm = 0; warm < 50; warm++) await call(line);
      for (let round = 0; round < ROUNDS; round++) {
        times.bare.push(await medianOf(CALLS, () => call(bare)));
        times.ours.push(await medianOf(CALLS, () => call(ours)));
        times.bareLists.push(await medianOf(LISTS, () => list(bare)));
        times.ourLists.push(await medianOf(LISTS, () => list(ours)));
      }
      const [mine, theirs] = [median(times.ours), median(times.bare)];
      const limit = 2 * measureSync(home.folder) + 2;
      emit({
        case: "tool call p50",
        value: mine,
        unit: "ms",
        beside: "bare SDK server over stdio",
        ratio: mine / theirs,
      });
      emit({
        case: "added p50 of a tool call",
        value: mine - theirs,
        unit: "ms",
        beside: `two log syncs + 2 ms = ${limit.toFixed(2)} ms`,
        ratio: (mine - theirs) / limit,
      });
      const [listed, bareListed] = [median(times.ourLists), median(times.bareLists)];
      emit({
        case: `tools/list with ${ACTIONS} actions, p50`,
        value: listed,
        unit: "ms",
        beside: "the same tools on a bare SDK server",
        ratio: listed / bareListed,
      });
    } finally {
      await approver?.stop();
      for (const child of children) child.kill("SIGTERM");
      home.remove();
    }
  },
};

function moreActions(): string {
  return Array.from(
    { length: ACTIONS - 1 },
    (_, index) => `  thing${index + 1}.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
`,
  ).join("");
}

async function medianOf(count: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const from = performance.now();
    await work();
    times.push(performance.now() - from);
  }
  return median(times);
}

async function openLine(child: ChildProcess): Promise<Line> {
  const waiting = new Map<number, (message: object) => void>();
  let serial = 0;
  if (child.stdout === null) throw new Error("the server has no output");
  createInterface(child.stdout).on("line", (text) => {
    const message = JSON.parse(text) as { id?: number; error?: object; result?: { isError?: boolean } };
    if (message.error !== undefined || message.result?.isError === true) throw new Error(text);
    if (message.id !== undefined) waiting.get(message.id)?.(message);
  });
  const say = (message: object): void => void child.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const line: Line = {
    request(method, params) {
      const id = ++serial;
      say({ id, method, params });
      return new Promise((resolve) => waiting.set(id, resolve));
    },
  };
  const clientInfo = { name: "bench", version: "1.0" };
  await line.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  say({ method: "notifications/initialized" });
  return line;
}

function start(
  children: ChildProcess[],
  args: readonly string[],
  stdio: ("ignore" | "pipe" | "inherit" | "ipc")[],
): ChildProcess {
  const child = spawn(process.execPath, ["--disable-sigusr1", "--disable-warning=ExperimentalWarning", ...args], {
    stdio,
  });
  children.push(child);
  return child;
}

function spawnInto(children: ChildProcess[], command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  return child;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8").split("\n")[0] ?? ""));
    child.once("exit", (code) => reject(new Error(`a bench process ended with ${code}`)));
  });
}
