import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";

/**
 * Sends requests at a fixed concurrency and reports how it went. Usage: load JSON, where JSON is
 * a Job. For the gateway it opens its run itself.
 */
interface Job {
  readonly target: { readonly port: number } | { readonly socketPath: string };
  readonly concurrency: number;
  readonly seconds: number;
  readonly gateway: boolean;
  /** Side effects in the place of reads. */
  readonly effects: boolean;
  /** Of the process that serves, whose time is taken; null for one that is not asked about. */
  readonly pid: number | null;
}

const job = JSON.parse(process.argv[2] ?? "{}") as Job;
const agent = new Agent({ keepAlive: true, maxSockets: job.concurrency });
const where =
  "port" in job.target ? { host: "127.0.0.1", port: job.target.port } : { socketPath: job.target.socketPath };

function ask(method: string, path: string, body?: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      prefer: "wait=30",
    };
    const call = request({ ...where, agent, method, path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    call.on("error", reject);
    call.end(body);
  });
}

/** As many as a run may have. There is one run, opened before anything is measured: a person's yes takes longer than a thousand calls. */
const CALLS_A_RUN = job.effects ? 1_000 : 10_000;
const ACTION = job.effects ? "bench.thing.put" : "bench.thing.get";
let next = 0;
let runId = "";

async function openRun(): Promise<string> {
  const body = {
    purpose: "bench",
    actions: [ACTION],
    budget: { attempts: CALLS_A_RUN, duration_seconds: 600, ...(job.effects ? { side_effects: CALLS_A_RUN } : {}) },
  };
  const { status, text } = await ask("POST", "/v1/runs", JSON.stringify(body));
  if (status !== 201 && status !== 202) throw new Error(`no run: ${status} ${text}`);
  const { run_id: id } = JSON.parse(text) as { run_id: string };
  for (let state = ""; state !== "open"; ) {
    const seen = await ask("GET", `/v1/runs/${id}`);
    state = (JSON.parse(seen.text) as { state: string }).state;
    if (state === "ended") throw new Error(`nobody approved the run: ${seen.text}`);
    if (state !== "open") await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return id;
}

async function once(): Promise<void> {
  if (!job.gateway) {
    const { status } = await ask(job.effects ? "PUT" : "GET", "/v1/things/7");
    if (status !== 200) throw new Error(`status ${status}`);
    return;
  }
  // Of the same effect one is under way at a time.
  const call = { action: ACTION, input: { id: job.effects ? `${process.pid}-${next++}` : "7" } };
  const { status, text } = await ask("POST", `/v1/runs/${runId}/calls`, JSON.stringify(call));
  if (status !== 200 || !text.includes('"outcome":"success"'))
    throw new Error(`status ${status}: ${text.slice(0, 300)}`);
}

const times: number[] = [];
let left = 0;
async function worker(until: number): Promise<void> {
  while (performance.now() < until && left-- > 0) {
    const start = performance.now();
    await once();
    times.push(performance.now() - start);
  }
}

/** Linux counts processor time in hundredths of a second. */
const US_PER_TICK = 10_000;

function cpuTicks(): number {
  if (job.pid === null) return 0;
  const stat = readFileSync(`/proc/${job.pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11]) + Number(fields[12]);
}

let ticks = 0;
/** Until its time is over, or its share of what the run may do is used. */
async function phase(seconds: number, share: number): Promise<number> {
  left = job.gateway ? CALLS_A_RUN * share : Number.POSITIVE_INFINITY;
  ticks = cpuTicks();
  times.length = 0;
  const start = performance.now();
  await Promise.all(Array.from({ length: job.concurrency }, () => worker(start + seconds * 1000)));
  return times.length / ((performance.now() - start) / 1000);
}

if (job.gateway) runId = await openRun();
await phase(Math.min(1, job.seconds / 3), 0.2);
const before = times.length;
const rate = await phase(job.seconds, 0.8);
const cpuUs = ((cpuTicks() - ticks) * US_PER_TICK) / times.length;
times.sort((a, b) => a - b);
const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN;
console.log(JSON.stringify({ rate, calls: before + times.length, cpuUs, p50: at(0.5), p99: at(0.99) }));
process.exit(0);
