import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { openReader } from "../src/audit/read/reader.ts";
import { verifyLog } from "../src/audit/verify/verify.ts";
import { attest, type Keys, openTestLog } from "./audit-kit.ts";
import { bundleProgram } from "./support/bundle.ts";

const program = bundleProgram(join(import.meta.dirname, "audit-programs/write-under-load.ts"));

/** Starts a writer on the log, kills it in full flow after `events` acknowledgements, returns what was acknowledged. */
export async function killWriter(folder: string, keys: Keys, round: number, events: number): Promise<string[]> {
  const recipient = keys.recipient.export({ format: "der", type: "spki" }).toString("base64");
  const child = spawn(process.execPath, [await program, folder, recipient, `r${round}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  let trouble = "";
  child.stderr.on("data", (chunk: Buffer) => {
    trouble += chunk.toString();
  });
  child.stdout.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    if (text.split("\n").length > events) child.kill("SIGKILL");
  });
  const [, signal] = (await once(child, "close")) as [number | null, string | null];
  assert.equal(signal, "SIGKILL", `the writer ended by itself: ${trouble}`);
  const lines = text.split("\n").slice(0, -1);
  assert.match(lines[0] ?? "", /^opened (genesis|crash)$/);
  return lines.slice(1);
}

/** After the next start: the log verifies and holds every acknowledged event. */
export async function assertNothingLost(folder: string, keys: Keys, acked: ReadonlySet<string>): Promise<number> {
  const log = await openTestLog(folder, { keys, seed: `after-${acked.size}` });
  await attest(log, keys);
  await log.close();
  const report = await verifyLog({ folder, allowUnattested: true });
  assert.equal(report.exit, 0, `${report.firstBreach?.code} at frame ${report.firstBreach?.frame}`);
  const seen = new Set<string>();
  for await (const item of openReader(folder, keys.readingKey)) {
    assert.notEqual(item.kind, "unreadable");
    if (item.kind === "record") seen.add(item.event.event_id);
  }
  const lost = [...acked].filter((id) => !seen.has(id));
  assert.deepEqual(lost, []);
  return seen.size;
}
