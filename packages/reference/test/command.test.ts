import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runReference } from "../src/command.ts";

test("a token file that is there already is not overwritten: the program says so, and nothing is left running", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gw-reference-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const tokenFile = join(folder, "token.txt");
  writeFileSync(tokenFile, "mine");
  let closed = 0;
  const running = {
    ...{ origin: "http://127.0.0.1:1", webhookSecret: "", issueToken: async () => "token" },
    close: async () => void closed++,
  };
  const options = { port: 0, file: join(folder, "a.db"), faults: false, json: false, tokenFile };
  const ports = { start: async () => running, scopes: [], stopped: new Promise<void>(() => undefined) };
  const io = { out: () => undefined, err: () => undefined };
  await assert.rejects(runReference(options, io, ports), { code: "EEXIST" });
  assert.equal(closed, 1);

  const program = join(import.meta.dirname, "../src/gw-reference.ts");
  const args = [program, "--file", join(folder, "b.db"), "--token-file", tokenFile];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  assert.deepEqual([status, stderr.trim().split("\n").length], [1, 1], stderr);
  assert.ok(stderr.startsWith(tokenFile), stderr);
  assert.equal(readFileSync(tokenFile, "utf8"), "mine");
});
