import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Loaded before a program of ours (`node --import`): another command does its work right before this one opens a file for the N-th
 * time, as `GW_MEANWHILE={"at":N,"file":START,"run":[…]}` says. Both programs and the files are real; only the moment is chosen.
 */
const { GW_MEANWHILE: given = "", ...env } = process.env;
const { at, file, run } = JSON.parse(given) as { at: number; file: string; run: readonly string[] };
let left = at;
const real = fs.openSync;
fs.openSync = (path, ...how) => {
  if (String(path).startsWith(file) && --left === 0) {
    const [command = "", ...args] = run;
    const { status, stderr } = spawnSync(command, args, { env });
    fs.writeSync(2, `meanwhile: ${status} ${stderr}\n`);
  }
  return real(path, ...how);
};
syncBuiltinESMExports();
