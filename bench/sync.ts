import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { median } from "./bench.ts";

/** What one durable append costs on this disk now: a small write and its fdatasync, in milliseconds. */
export function measureSync(folder: string): number {
  const path = join(folder, "sync-probe");
  const fd = openSync(path, "w", 0o600);
  writeSync(fd, Buffer.alloc(1 << 20));
  const times = Array.from({ length: 200 }, (_, index) => {
    const start = performance.now();
    writeSync(fd, Buffer.alloc(1024, index), 0, 1024, index * 1024);
    fdatasyncSync(fd);
    return performance.now() - start;
  });
  closeSync(fd);
  rmSync(path);
  return median(times);
}
