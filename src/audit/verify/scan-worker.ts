import { parentPort, workerData } from "node:worker_threads";
import { shareClaims } from "./claims.ts";
import { scanSegment } from "./scan.ts";
import type { ScanWork } from "./scan-threads.ts";

/** Scans segments for as long as one is left that nobody has taken. */
const { paths, shared } = workerData as ScanWork;
const claims = shareClaims(shared);
for (let index = claims.take(); index < paths.length; index = claims.take()) {
  claims.await(index);
  const scan = scanSegment(paths[index] ?? "");
  parentPort?.postMessage([index, scan], scan === null ? [] : [scan.bytes.buffer as ArrayBuffer]);
}
