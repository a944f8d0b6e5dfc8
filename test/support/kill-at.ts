import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded before a program of ours (`node --import`): ends it with SIGKILL right before its N-th change of a file below a folder,
 * as `GW_KILL_AT=N:FOLDER` says. The program, the files and the signal are real; only the moment is chosen.
 */
const [, number = "", below = ""] = /^(\d+):(.+)$/.exec(process.env["GW_KILL_AT"] ?? "") ?? [];
let left = Number(number);

const changes = [
  "renameSync",
  "rmSync",
  "rmdirSync",
  "unlinkSync",
  "copyFileSync",
  "mkdirSync",
  "mkdtempSync",
] as const;
for (const name of changes) {
  const real = fs[name] as (...args: unknown[]) => unknown;
  Object.assign(fs, {
    [name](...args: unknown[]) {
      if (String(args[0]).startsWith(below) && --left === 0) process.kill(process.pid, "SIGKILL");
      return real(...args);
    },
  });
}
syncBuiltinESMExports();
