import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { readRecordingFile, writeRecordingFile } from "./recording-files.ts";
import { openRecording, sealRecording } from "./sealed-recording.ts";

const random = { bytes: randomBytes };
const [ada, bob, eve] = [0, 1, 2].map(() => generateKeyPairSync("x25519"));
assert.ok(ada !== undefined && bob !== undefined && eve !== undefined);
const both = [ada.publicKey, bob.publicKey];

test("a recording opens for each recipient and for nobody else", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5_000 }), (data) => {
      const plaintext = Buffer.from(data);
      const sealed = sealRecording("evt_a1", plaintext, both, random);
      for (const { privateKey } of [ada, bob]) assert.deepEqual(openRecording("evt_a1", sealed, privateKey), plaintext);
      assert.equal(openRecording("evt_a1", sealed, eve.privateKey), undefined);
    }),
    { numRuns: runsOf(40) },
  );
});

test("a recording is bound to its attempt: under another name it does not open", () => {
  const sealed = sealRecording("evt_a1", Buffer.from("restarted web-1"), both, random);
  assert.equal(openRecording("evt_a2", sealed, ada.privateKey), undefined);
  assert.ok(!sealed.includes("restarted"), "nothing of it is in clear");
});

test("no changed, cut or lengthened recording opens", () => {
  const sealed = sealRecording("evt_a1", Buffer.from("restarted web-1"), both, random);
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(at) ^ mask, at);
      assert.equal(openRecording("evt_a1", changed, ada.privateKey), undefined);
      assert.equal(openRecording("evt_a1", sealed.subarray(0, at), ada.privateKey), undefined);
    }),
    { numRuns: runsOf(300) },
  );
  assert.equal(openRecording("evt_a1", Buffer.concat([sealed, Buffer.alloc(1)]), ada.privateKey), undefined);
});

test("recordings are for their owner alone, are written once, and no name leads elsewhere", () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-recordings-"));
  try {
    const sealed = sealRecording("evt_a1", Buffer.from("x"), both, random);
    writeRecordingFile(folder, "evt_a1", sealed);
    assert.deepEqual(readdirSync(join(folder, "recordings")), ["evt_a1.gwrec"]);
    assert.equal(statSync(join(folder, "recordings", "evt_a1.gwrec")).mode & 0o777, 0o600);
    assert.deepEqual(readRecordingFile(folder, "evt_a1", 10_000), sealed);
    assert.equal(readRecordingFile(folder, "evt_a2", 10_000), undefined);
    assert.throws(() => writeRecordingFile(folder, "evt_a1", Buffer.from("another")), { code: "EEXIST" });
    assert.deepEqual(readRecordingFile(folder, "evt_a1", 10_000), sealed);
    const hasCode = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
    assert.throws(() => readRecordingFile(folder, "evt_a1", 10), hasCode("log_damaged"));
    for (const name of ["../evt_a1", "evt_a1/../x", "", "evt_", "EVT_a"])
      assert.throws(() => readRecordingFile(folder, name, 10_000), hasCode("not_found"));
    symlinkSync(join(folder, "recordings", "evt_a1.gwrec"), join(folder, "recordings", "evt_a3.gwrec"));
    assert.equal(readRecordingFile(folder, "evt_a3", 10_000), undefined, "a link is not a recording");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
