import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { segmentName } from "../frame/layout.ts";
import { encodeStamp } from "../frame/stamp.ts";
import { openLog } from "../log.ts";
import { tellsOfNoState } from "./marks.ts";

const reading = generateKeyPairSync("x25519");

const stampWith = (tag: Buffer): Buffer =>
  encodeStamp({
    ...{ vaultGeneration: 1, vaultHash: Buffer.alloc(32), policyVersion: 1, policyDigest: Buffer.alloc(32) },
    ...{ stateWritten: 0, stateDurable: 0, boot: Buffer.alloc(16), tag },
  });
const locked = stampWith(Buffer.alloc(16));
const unlocked = stampWith(Buffer.alloc(16, 1));

/** One life of a gateway, whose frames of records bear these stamps. */
async function live(folder: string, ...stamps: readonly (Buffer | null)[]): Promise<void> {
  const log = await openLog({
    ...{ folder, recipients: [reading.publicKey], vaultGeneration: 1, vaultHash: Buffer.alloc(32) },
    clock: { wallMs: () => 1_750_000_000_000 },
    random: { bytes: (length) => randomBytes(length) },
    limits: { spaceBytes: 4_096 },
  });
  for (const stamp of stamps) {
    if (stamp !== null) log.stamp(() => stamp);
    await log.append([
      {
        ...{ event_id: "evt_1", event_type: "call_denied", occurred_at: "2026-01-01T00:00:00.000Z" },
        ...{ run_id: "run_1", code: "not_found", action: "acme.report.create", caller: "node" },
      },
    ]);
  }
  await log.close();
}

async function inFolders(use: (fresh: () => string) => Promise<void>): Promise<void> {
  const top = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    await use(() => mkdtempSync(join(top, "log-")));
  } finally {
    rmSync(top, { recursive: true });
  }
}

test("a log that is whole and that nobody tagged says that no state was ever open, however often it was begun", () =>
  inFolders(async (fresh) => {
    const folder = fresh();
    assert.equal(tellsOfNoState(folder), false, "no log says nothing");
    for (const stamps of [[locked], [], [locked, locked]]) {
      await live(folder, ...stamps);
      assert.equal(tellsOfNoState(folder), true);
    }
  }));

test("a log with a frame that is tagged, or bears no stamp, does not say it, whatever comes after", () =>
  inFolders(async (fresh) => {
    for (const stamps of [[unlocked], [null], [locked, unlocked, locked]]) {
      const folder = fresh();
      for (const life of [[locked], stamps, [locked]]) {
        await live(folder, ...life);
      }
      assert.equal(tellsOfNoState(folder), false);
    }
  }));

test("nor does one of which a part is missing, changed, torn or another log's", () =>
  inFolders(async (fresh) => {
    const [whole, other] = [fresh(), fresh()];
    for (let times = 0; times < 3; times++) for (const folder of [whole, other]) await live(folder, locked);
    const edits: Record<string, (first: string, second: string) => void> = {
      archived: (first) => rmSync(first),
      missing: (_first, second) => rmSync(second),
      another: (_first, second) => cpSync(join(other, segmentName(2)), second),
      torn: (_first, second) => truncateSync(second, readFileSync(second).length - 9),
      changed(_first, second) {
        const bytes = readFileSync(second);
        writeFileSync(second, bytes.fill((bytes[200] ?? 0) ^ 1, 200, 201));
      },
    };
    for (const [name, edit] of Object.entries(edits)) {
      const folder = fresh();
      cpSync(whole, folder, { recursive: true });
      assert.equal(tellsOfNoState(folder), true);
      edit(join(folder, segmentName(1)), join(folder, segmentName(2)));
      assert.equal(tellsOfNoState(folder), false, name);
    }
  }));
