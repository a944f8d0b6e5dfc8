import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { segmentName } from "../../audit/frame/layout.ts";
import { createJournals } from "./journals.ts";
import { readWanted } from "./wanted.ts";

test("a log of one gateway that cannot be read takes nothing from those of others", () => {
  const root = mkdtempSync(join(tmpdir(), "gw-journals-"));
  try {
    const [unreadable, other] = [join(root, "a"), join(root, "b")];
    mkdirSync(join(unreadable, segmentName(1)), { recursive: true });
    mkdirSync(other);
    writeFileSync(join(other, segmentName(1)), "no log either, and told as such");
    const logs = [
      { gateway: "a", folder: unreadable },
      { gateway: "b", folder: other },
    ];
    const wanted = readWanted(new URLSearchParams());
    const journals = createJournals(generateKeyPairSync("x25519").privateKey);
    for (let again = 0; again < 2; again++) {
      const { rows } = journals.list(wanted, logs);
      assert.deepEqual(rows.map((row) => [row.gateway, row.kind]).sort(), [
        ["a", "gap"],
        ["b", "gap"],
      ]);
      assert.deepEqual(journals.charts(logs).slots, []);
    }
    assert.throws(() => journals.list(wanted, [{ gateway: null, folder: unreadable }]), { code: "EINVAL" });
  } finally {
    rmSync(root, { recursive: true });
  }
});
