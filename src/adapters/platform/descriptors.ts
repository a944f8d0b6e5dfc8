import { readFileSync } from "node:fs";

const UNKNOWN = 1_024;

/** How many descriptors this process may have open. */
export function descriptorLimit(): number {
  try {
    const found = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return found === undefined ? UNKNOWN : Number(found);
  } catch {
    return UNKNOWN;
  }
}
