import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Denied } from "../kernel/failure.ts";
import { rawPublicOf } from "./keys.ts";
import { drawWaitingKey, readWaitingKey, WAITING_KEY_FILE } from "./waiting-key.ts";

const random = { bytes: (length: number) => randomBytes(length) };
const vaultId = `vlt_${"0".repeat(26)}`;

test("each join draws a key of its own to ask with, in a private file, for one vault", () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-waiting-"));
  try {
    assert.equal(readWaitingKey(folder, vaultId), null);
    const [first, second] = [0, 1].map(() => rawPublicOf(drawWaitingKey(folder, vaultId, random).signing));
    assert.notDeepEqual(first, second, "who has a copy of the one before is shut out");
    const held = readWaitingKey(folder, vaultId);
    assert.deepEqual(held === null ? null : rawPublicOf(held.signing), second);
    const path = join(folder, WAITING_KEY_FILE);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.throws(() => readWaitingKey(folder, `vlt_${"1".repeat(26)}`), Denied);
    chmodSync(path, 0o644);
    assert.throws(() => readWaitingKey(folder, vaultId), Denied);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
