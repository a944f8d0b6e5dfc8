import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import { openBackup } from "./sealed-file.ts";

const whole = { format: "gw.backup/v1", made_at: "", by: "ada", vault: "{}", readers: [] };

test("a header that gw did not write is malformed, whatever it holds", () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const path = join(folder, "backup");
  try {
    for (const header of [
      null,
      [],
      "gw.backup/v1",
      { ...whole, format: "gw.backup/v9" },
      { ...whole, vault: null },
      { ...whole, readers: null },
      { ...whole, readers: [null] },
      { ...whole, readers: [{}] },
      { ...whole, readers: [{ key_id: "k", encapsulated: 1, sealed: "" }] },
    ]) {
      const text = Buffer.from(JSON.stringify(header));
      const length = Buffer.alloc(4);
      length.writeUInt32LE(text.length);
      writeFileSync(path, Buffer.concat([Buffer.from("GWBACKUP1\n"), length, text]));
      assert.throws(
        () => openBackup(path),
        (error) => error instanceof Denied && error.code === "backup_malformed",
        JSON.stringify(header),
      );
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
