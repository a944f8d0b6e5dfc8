import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { Scan } from "./scan.ts";
import type { ScanAhead, ToScan } from "./verify.ts";

/** A thread takes longer to start than so much takes to walk. */
const WORTH_BYTES = 268_435_456;
/** What they may be ahead of the walk: what a scan copied out waits in memory. */
const AHEAD = 2;

/** Scans on as many threads as the machine runs at once. Little is left to the walk itself. */
export function scanOnThreads(segments: readonly ToScan[]): ScanAhead {
  const total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  const threads = total < WORTH_BYTES ? 0 : Math.min(availableParallelism(), segments.length);
  return threads < 2 ? NONE : startThreads(segments, threads);
}

const NONE: ScanAhead = { take: () => Promise.resolve(null), close: () => undefined };

export function startThreads(segments: readonly ToScan[], threads: number): ScanAhead {
  const scans = new Map(segments.map(({ segment }) => [segment, Promise.withResolvers<Scan | null>()]));
  const workers = new Set<Worker>();
  const idle: Worker[] = [];
  const jobs = new Map<Worker, number>();
  let next = 0;
  let taken = 0;

  function tell(worker: Worker, scan: Scan | null): void {
    scans.get(jobs.get(worker) ?? -1)?.resolve(scan);
    jobs.delete(worker);
  }

  /** One that failed is not asked again; where none is left, the walk does without them. */
  function lose(worker: Worker): void {
    tell(worker, null);
    workers.delete(worker);
    if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
    if (workers.size === 0) for (const { resolve } of scans.values()) resolve(null);
  }

  function handOut(): void {
    while (next < segments.length && next < taken + threads * AHEAD) {
      const job = segments[next];
      const worker = idle.pop();
      if (worker === undefined || job === undefined) return;
      next++;
      jobs.set(worker, job.segment);
      worker.postMessage(job.path);
    }
  }

  for (let count = 0; count < threads; count++) {
    const worker = startThread();
    if (worker === null) break;
    worker.on("error", () => lose(worker));
    worker.on("exit", () => lose(worker));
    worker.on("message", (scan: Scan | null) => {
      tell(worker, scan);
      idle.push(worker);
      handOut();
    });
    workers.add(worker);
    idle.push(worker);
  }
  if (workers.size === 0) return NONE;
  handOut();
  return {
    async take(segment) {
      const scan = (await scans.get(segment)?.promise) ?? null;
      scans.delete(segment);
      taken++;
      handOut();
      return scan;
    },
    close() {
      for (const worker of workers) void worker.terminate();
    },
  };
}

/** Null where the system gives no further thread. */
function startThread(): Worker | null {
  // The package holds compiled files: the worker has the extension that this file has.
  const file = import.meta.url.endsWith(".ts") ? "./scan-worker.ts" : "./scan-worker.js";
  try {
    return new Worker(new URL(file, import.meta.url), { env: {} });
  } catch {
    return null;
  }
}
