import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { makeLogFolder } from "./log-folder.ts";

/** Larger than any number that a system gives. */
const NOBODY = 999_999_999;

test("copies of logs that a killed process left are removed, and nothing else is", () => {
  const before = process.env["TMPDIR"];
  const folder = mkdtempSync(join(tmpdir(), "gw-left-"));
  process.env["TMPDIR"] = folder;
  try {
    const own = basename(makeLogFolder());
    const place = own.split("-")[3] ?? "";
    const name = (pid: number, where = place): string => `gw-hub-${pid}-${where}-abcdef`;
    const elsewhere = "0".repeat(16);
    const kept = [own, name(process.ppid), name(NOBODY, elsewhere), `gw-hub-${NOBODY}`, "gw-hub-abcdef", "another"];
    for (const one of [...kept.slice(1), name(NOBODY)]) mkdirSync(join(folder, one));
    writeFileSync(join(folder, name(NOBODY), "log"), "sealed");
    writeFileSync(join(folder, name(NOBODY - 1)), "a file");
    symlinkSync(join(folder, "another"), join(folder, name(NOBODY - 2)));
    writeFileSync(join(folder, "another", "of somebody else"), "");
    const next = basename(makeLogFolder());
    const stays = [...kept, name(NOBODY - 1), name(NOBODY - 2), next];
    assert.deepEqual(readdirSync(folder).sort(), stays.sort());
    assert.deepEqual(readdirSync(join(folder, "another")), ["of somebody else"]);
  } finally {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    rmSync(folder, { recursive: true });
  }
});
