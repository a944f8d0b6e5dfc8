import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { type Bench, median } from "./bench.ts";
import { startApprover } from "./calls/approver.ts";
import { makeHome } from "./calls/home.ts";

const root = join(import.meta.dirname, "..");
const CALLS = 200;
const STARTS = 5;
/** A box is not for root: what is measured then runs as somebody else. */
const NOBODY = 65_534;
const someone = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

const DOWNLOAD = `  file.get:
    effect: read
    request: { method: GET, path: "/v1/files/{id}", accept: "*/*" }
    response: stream
    limits: { timeout_s: 120, response_bytes: 134217728 }
    input:
      id: { in: path, type: string, maxLength: 64 }`;

interface Measured {
  readonly p50: number;
  readonly perSecond: number;
}

/** A request of a tool in a box, beside the same call on the agent socket; and what a box costs to build. */
export const bench: Bench = {
  name: "contained",
  async run(emit) {
    const children: ChildProcess[] = [];
    const provider = start(children, [join(root, "bench/calls/provider.ts")], true);
    const origin = `http://127.0.0.1:${await firstLine(provider)}`;
    const home = await makeHome(origin, DOWNLOAD);
    const folder = dirname(home.folder);
    if ("uid" in someone) spawnSync("chown", ["-R", `${NOBODY}:${NOBODY}`, folder]);
    let approver: ReturnType<typeof startApprover> | undefined;
    try {
      await firstLine(
        start(children, [join(root, "src/programs/gateway.ts"), home.folder, "--key-file", home.keyFile]),
      );
      approver = startApprover(home, someone);
      const attempts = ["--attempts", String(CALLS * 5 + 100)];
      const load = async (how: readonly string[], target: string): Promise<Measured> => {
        const program = [process.execPath, join(root, "bench/calls/contained-load.ts"), target, String(CALLS)];
        return JSON.parse(await run(folder, home.folder, [...how, ...attempts, "--", ...program])) as Measured;
      };
      const direct = await load([], "direct");
      const { p50, perSecond } = await load(["--contain"], `${origin}/v1/things/7`);
      emit({
        case: "request in a box p50",
        value: p50,
        unit: "ms",
        beside: "gw call on the agent socket",
        ratio: p50 / direct.p50,
      });
      emit({
        case: "added p50 of a request in a box",
        value: p50 - direct.p50,
        unit: "ms",
        beside: `the same call on the agent socket, ${direct.p50.toFixed(2)} ms`,
        ratio: (p50 - direct.p50) / direct.p50,
      });
      emit({
        case: "requests in a box, 16 connections",
        value: perSecond,
        unit: "1/s",
        beside: "calls on the agent socket, 16 connections",
        ratio: perSecond / direct.perSecond,
      });
      const download = async (how: readonly string[]): Promise<readonly number[]> => {
        const curl = ["curl", "-sS", "-o", "/dev/null", "-w", "%{speed_download} %{time_starttransfer}"];
        const told = await run(folder, home.folder, [...how, "--", ...curl, `${origin}/v1/files/1`]);
        return told.split(" ").map(Number);
      };
      const [boxed = 0, firstByte = 0] = await download(["--contain"]);
      const [bare = 0, bareFirst = 0] = await download([]);
      emit({
        case: "64 MiB streamed to curl in a box",
        value: boxed / 1_048_576,
        unit: "MiB/s",
        beside: `curl at the provider itself, ${(bare / 1_048_576).toFixed(0)} MiB/s`,
        ratio: boxed / bare,
      });
      emit({
        case: "first byte of a stream in a box",
        value: firstByte * 1_000,
        unit: "ms",
        beside: `curl at the provider itself, ${(bareFirst * 1_000).toFixed(1)} ms`,
        ratio: firstByte / bareFirst,
      });
      const contained = await medianStart(folder, home.folder, ["--contain", "--", "true"]);
      const plain = await medianStart(folder, home.folder, ["--", "true"]);
      emit({
        case: "gw run --contain -- true",
        value: contained,
        unit: "ms",
        beside: "gw run -- true",
        ratio: contained / plain,
      });
    } finally {
      await approver?.stop();
      for (const child of children) child.kill("SIGTERM");
      home.remove();
    }
  },
};

async function medianStart(folder: string, home: string, args: readonly string[]): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < STARTS; index++) {
    const from = performance.now();
    await run(folder, home, args);
    times.push(performance.now() - from);
  }
  return median(times);
}

async function run(folder: string, home: string, args: readonly string[]): Promise<string> {
  const child = spawn(join(root, "bin/gw"), ["--home", home, "run", ...args], {
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, HOME: folder, XDG_STATE_HOME: join(folder, "state") },
    ...someone,
  });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    texts.out += chunk.toString("utf8");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    texts.err += chunk.toString("utf8");
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`gw run ended with ${code}: ${texts.err}`);
  return texts.out;
}

function start(children: ChildProcess[], args: readonly string[], ipc = false): ChildProcess {
  const child = spawn(process.execPath, ["--disable-sigusr1", "--disable-warning=ExperimentalWarning", ...args], {
    stdio: ["ignore", "pipe", "inherit", ...(ipc ? (["ipc"] as const) : [])],
    ...someone,
  });
  children.push(child);
  return child;
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout ?? child, "data")) as [Buffer];
  return chunk.toString("utf8").split("\n")[0] ?? "";
}
