import { createHash, createPublicKey, randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { writeHeapSnapshot } from "node:v8";
import { openLog } from "../../src/audit/log.ts";
import { intentEvent } from "../audit-kit.ts";

/** Writes 10,000 events whose text only this process and its parent can derive, then waits to be looked into. */
const [folder = "", recipient = "", snapshot = ""] = process.argv.slice(2);
const EVENTS = 10_000;
const PER_COMMIT = 4;

const log = await openLog({
  folder,
  recipients: [createPublicKey({ key: Buffer.from(recipient, "base64"), format: "der", type: "spki" })],
  vaultGeneration: 1,
  vaultHash: Buffer.alloc(32),
  clock: { wallMs: () => Date.now() },
  random: { bytes: (length) => randomBytes(length) },
});

// A function of its own: the loop's frame would keep one batch alive in a register it no longer uses.
function commit(first: number): Promise<unknown> {
  return log.append(
    Array.from({ length: PER_COMMIT }, (_, offset) => {
      const marker = createHash("sha256")
        .update(`marker ${first + offset}`)
        .digest("hex");
      return intentEvent(first + offset, { path: `/v1/${marker}` });
    }),
  );
}

for (let index = 0; index < EVENTS; index += PER_COMMIT) await commit(index);
await log.seal();
// What any process comes to in time: dead objects are collected, and their pages given back.
const { gc } = globalThis as { gc?: (options: object) => void };
for (let round = 0; round < 3; round++) {
  gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
  await new Promise((resolve) => setImmediate(resolve));
}
if (snapshot !== "") writeHeapSnapshot(snapshot);
writeSync(1, "ready\n");
setInterval(() => undefined, 1_000);
