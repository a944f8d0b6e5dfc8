import assert from "node:assert/strict";
import { closeSync, openSync } from "node:fs";
import { test } from "node:test";
import { checkIma, parseIma } from "./ima.ts";
import { checkVerity, parseMeasurement } from "./verity.ts";

const skip = process.platform === "linux" ? false : "these attributes are Linux's";

test("an IMA signature is read whole, with its hash and key", () => {
  const value = Buffer.from([3, 2, 4, 1, 2, 3, 4, 0, 3, 9, 8, 7]);
  assert.deepEqual(parseIma(value), { algorithm: "sha256", keyId: "01020304", signature: Buffer.from([9, 8, 7]) });
});

test("a plain IMA hash, another version, a weak hash or a wrong size is no signature", () => {
  for (const bytes of [
    [1, 2, 4, 1, 2, 3, 4, 0, 1, 9],
    [3, 1, 4, 1, 2, 3, 4, 0, 1, 9],
    [3, 2, 2, 1, 2, 3, 4, 0, 1, 9],
    [3, 2, 4, 1, 2, 3, 4, 0, 2, 9],
    [3, 2, 4, 1, 2, 3, 4, 0, 0],
    [3, 2],
  ]) {
    assert.equal(parseIma(Buffer.from(bytes)), undefined);
  }
});

test("an fs-verity measurement names its hash and never more bytes than there are", () => {
  const answer = Buffer.alloc(68);
  answer.writeUInt16LE(1, 0);
  answer.writeUInt16LE(32, 2);
  answer.fill(0xab, 4, 36);
  assert.equal(parseMeasurement(answer), `sha256:${"ab".repeat(32)}`);
  answer.writeUInt16LE(65, 2);
  assert.equal(parseMeasurement(answer), undefined);
  answer.writeUInt16LE(9, 0);
  assert.equal(parseMeasurement(answer), undefined);
});

test("a file without such attributes makes no claim", { skip }, () => {
  const fd = openSync(process.execPath, "r");
  try {
    assert.equal(checkIma(fd, []), null);
    assert.equal(checkVerity(fd), null);
  } finally {
    closeSync(fd);
  }
});
