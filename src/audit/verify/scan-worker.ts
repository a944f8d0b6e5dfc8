import { parentPort } from "node:worker_threads";
import { scanSegment } from "./scan.ts";

/** Scans the segments whose paths it is sent, one after the other. */
parentPort?.on("message", (path: string) => {
  const scan = scanSegment(path);
  parentPort?.postMessage(scan, scan === null ? [] : [scan.bytes.buffer as ArrayBuffer]);
});
