import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { assertNothingLost, killWriter } from "../test/audit-kill.ts";
import { makeKeys } from "../test/audit-kit.ts";

/** Kills a writer of the log a thousand times, or as often as the argument says, and looks after every fifty. */
const rounds = Number(process.argv[2] ?? 1_000);
const keys = makeKeys();
let folder = mkdtempSync(join(tmpdir(), "gw-soak-log-"));
let acked = new Set<string>();
let total = 0;
try {
  for (let round = 1; round <= rounds; round++) {
    for (const id of await killWriter(folder, keys, round, 1 + ((round * 137) % 900))) acked.add(id);
    if (round % 50 !== 0 && round !== rounds) continue;
    await assertNothingLost(folder, keys, acked);
    total += acked.size;
    console.log(`${round} kills, ${total} acknowledged, none lost, the log verifies`);
    rmSync(folder, { recursive: true });
    folder = mkdtempSync(join(tmpdir(), "gw-soak-log-"));
    acked = new Set();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
