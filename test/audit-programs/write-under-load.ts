import { createPublicKey, randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import { openLog } from "../../src/audit/log.ts";
import { intentEvent } from "../audit-kit.ts";

/** Appends from many sides until it is killed, and tells its parent every event that was acknowledged. */
const [folder = "", recipient = "", prefix = "", writers = "16"] = process.argv.slice(2);

const log = await openLog({
  folder,
  recipients: [createPublicKey({ key: Buffer.from(recipient, "base64"), format: "der", type: "spki" })],
  vaultGeneration: 1,
  vaultHash: Buffer.alloc(32),
  clock: { wallMs: () => Date.now() },
  random: { bytes: (length) => randomBytes(length) },
  limits: { segmentBytes: 400_000, sealTickMs: 5, sealBusyMs: 20 },
});
writeSync(1, `opened ${log.opened.reason}\n`);

await Promise.all(
  Array.from({ length: Number(writers) }, async (_, writer) => {
    for (let count = 0; ; count++) {
      const event = intentEvent(`${prefix}-${writer}-${count}`);
      await log.append([event]);
      // One write a line, synchronous: what the parent has read was acknowledged before the kill.
      writeSync(1, `${event.event_id}\n`);
    }
  }),
);
