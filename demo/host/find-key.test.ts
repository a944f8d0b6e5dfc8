import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { filesWith } from "./find-key.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-find-key-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("a key is found in every form and at every place in a file, and nothing else is taken for it", () => {
  const seed = randomBytes(32);
  mkdirSync(join(folder, "deep"));
  writeFileSync(join(folder, "clean"), randomBytes(4_096));
  assert.deepEqual(filesWith(seed, [folder]), { searched: 1, found: [] });
  const planted: string[] = [];
  const plant = (name: string, content: Buffer | string) => {
    planted.push(join(folder, "deep", name));
    writeFileSync(join(folder, "deep", name), content);
  };
  plant("raw", Buffer.concat([randomBytes(7), seed, randomBytes(9)]));
  plant("hex", `x${seed.toString("hex")}`);
  plant("hex-upper", seed.toString("hex").toUpperCase());
  for (let before = 0; before < 4; before++) {
    const text = Buffer.concat([randomBytes(before), seed, randomBytes(5)]);
    plant(`base64-${before}`, text.toString("base64"));
    plant(`base64url-${before}`, text.toString("base64url"));
  }
  assert.deepEqual([...filesWith(seed, [folder]).found].sort(), planted.sort());
});
