import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openLog } from "../../../audit/log.ts";
import { Denied } from "../../../kernel/failure.ts";
import { checkLog } from "./check-log.ts";
import { readParts } from "./vouch.ts";

const reading = generateKeyPairSync("x25519");

test("what another command moves away between the check and the reading is not signed for as if it said nothing", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-vouch-"));
  try {
    for (const life of [1, 2]) {
      const log = await openLog({
        ...{ folder, recipients: [reading.publicKey], vaultGeneration: 1, vaultHash: Buffer.alloc(32) },
        clock: { wallMs: () => 1_800_000_000_000 },
        random: { bytes: (size) => randomBytes(size) },
      });
      for (const part of [1, 2, 3]) {
        await log.append([
          {
            ...{ event_id: `evt_${life}${part}`, occurred_at: "2026-01-01T00:00:00.000Z" },
            ...{ event_type: "decision_refused", code: "not_found" },
          },
        ]);
        await log.rotate();
      }
      await log.close();
    }
    const looked = await checkLog(folder, null, { allowUnattested: true });
    const read = () => readParts([folder], reading.privateKey, looked, (keyId) => keyId);
    assert.deepEqual(
      (await read()).map(({ events }) => Object.fromEntries(events)),
      [{ decision_refused: 3 }],
    );
    for (const segment of [1, 3]) {
      const path = join(folder, `000000000${segment}.gwlog`);
      renameSync(path, `${path}.away`);
      await assert.rejects(read(), (error) => error instanceof Denied && error.code === "log_attestation_refused");
      renameSync(`${path}.away`, path);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
