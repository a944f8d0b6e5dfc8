import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Several times what the tests of a run hold at once. */
const WORTH_BYTES = 6_000_000_000;
const MOUNT = `mount -t tmpfs -o mode=1777,size=4g gw-test "$1" && export TMPDIR="$1" && shift && exec "$@"`;

/**
 * What comes before a command whose temporary files are to be in memory, and those of whatever it starts: hundreds of homes are made and
 * flushed, and no test pulls the plug. Nobody else sees them, and they are gone with the last of those processes. Where they cannot be there, they are
 * where they would be without it.
 */
export function keepInMemory(): readonly string[] {
  if (process.getuid?.() !== 0 || process.availableMemory() < WORTH_BYTES) return [];
  // Short: sockets stand below it.
  const place = mkdtempSync(join(tmpdir(), "gw-m-"));
  process.once("exit", () => rmSync(place, { recursive: true, force: true }));
  const before = ["--mount", "--propagation=private", "sh", "-c", MOUNT, "sh", place];
  return spawnSync("unshare", [...before, "true"]).status === 0 ? ["unshare", ...before] : [];
}
