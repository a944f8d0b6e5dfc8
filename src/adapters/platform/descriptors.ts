import { readFileSync } from "node:fs";
import { Denied } from "../../kernel/failure.ts";

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

/** What is wrong with us and not with whoever is looked at; undefined for every other error. A thread that cannot begin says it in words alone. */
export function descriptorsExhausted(error: unknown): Denied | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  const word = error.code === "ERR_WORKER_INIT_FAILED" ? /E[MN]FILE/.exec(error.message)?.[0] : error.code;
  return word === "EMFILE" || word === "ENFILE" ? exhausted(word) : undefined;
}

export function exhausted(word: string): Denied {
  return new Denied(
    "descriptors_exhausted",
    `The gateway can open no more files (${word}), so it could not look at who is calling. Nothing was done; connect again in a moment.`,
  );
}
