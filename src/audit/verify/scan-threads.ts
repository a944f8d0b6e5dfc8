import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { shareClaims } from "./claims.ts";
import { type Scan, scanSegment } from "./scan.ts";
import type { ScanAhead, ToScan } from "./verify.ts";

/** What a thread beside this one is started with. */
export interface ScanWork {
  readonly paths: readonly string[];
  readonly shared: SharedArrayBuffer;
}

/** A thread takes longer to start than its share of so much takes to scan. */
const WORTH_BYTES = 268_435_456;
/** What each thread may be ahead of the walk: what a scan copied out waits in memory. */
const AHEAD = 2;

/** Scans on as many threads as the machine runs at once, this one among them. Little is left to the walk itself. */
export function scanOnThreads(segments: readonly ToScan[]): ScanAhead {
  const total = segments.reduce((sum, { bytes }) => sum + bytes, 0);
  return startThreads(segments, total < WORTH_BYTES ? 1 : Math.min(availableParallelism(), segments.length));
}

export function startThreads(segments: readonly ToScan[], threads: number): ScanAhead {
  const paths = segments.map(({ path }) => path);
  const scans = new Map(paths.map((_, index) => [index, Promise.withResolvers<Scan | null>()]));
  const settled = new Set<number>();
  const claims = shareClaims();
  const workers: Worker[] = [];
  claims.allow(threads * AHEAD);

  function settle(index: number, scan: Scan | null): void {
    settled.add(index);
    scans.get(index)?.resolve(scan);
  }

  /** Nobody knows which ones a thread had that failed: the walk looks at all that were taken itself. */
  function lose(): void {
    for (let index = 0; index < claims.taken(); index++) settle(index, null);
  }

  while (workers.length < threads - 1) {
    const worker = startThread({ paths, shared: claims.shared });
    if (worker === null) break;
    worker.on("message", ([index, scan]: readonly [number, Scan | null]) => settle(index, scan));
    worker.on("error", lose);
    // One that was ended from without tells of no error.
    worker.on("exit", (code) => code !== 0 && lose());
    workers.push(worker);
  }
  return {
    async take(segment) {
      const wanted = segments.findIndex((one) => one.segment === segment);
      claims.allow(wanted + 1 + threads * AHEAD);
      // Rather than wait for another thread, this one scans what nobody has taken yet.
      while (scans.has(wanted) && !settled.has(wanted) && claims.taken() < Math.min(paths.length, claims.allowed())) {
        const index = claims.take();
        const path = paths[index];
        if (path !== undefined) settle(index, scanSegment(path));
        await new Promise((resolve) => setImmediate(resolve));
      }
      const scan = (await scans.get(wanted)?.promise) ?? null;
      scans.delete(wanted);
      return scan;
    },
    close() {
      for (const worker of workers) void worker.terminate();
    },
  };
}

/** Null where the system gives no further thread. */
function startThread(work: ScanWork): Worker | null {
  // The package holds compiled files: the worker has the extension that this file has.
  const file = import.meta.url.endsWith(".ts") ? "./scan-worker.ts" : "./scan-worker.js";
  try {
    return new Worker(new URL(file, import.meta.url), { env: {}, workerData: work });
  } catch {
    return null;
  }
}
