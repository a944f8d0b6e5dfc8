import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { runPackLint } from "./pack-lint.ts";

const example = join(import.meta.dirname, "../../../packs/example.yaml");
const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function lint(file: string, json = false): Promise<{ exit: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const exit = await runPackLint(file, { json }, { out: (line) => out.push(line), err: (line) => err.push(line) });
  return { exit, out, err };
}

function write(name: string, text: string | Uint8Array): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

describe("gw pack lint", () => {
  test("a sound pack exits 0 and prints its digest", async () => {
    const { exit, out, err } = await lint(example);
    assert.equal(exit, 0);
    assert.deepEqual(err, []);
    assert.match(out.at(-1) ?? "", /^digest sha256:[0-9a-f]{64}$/);
  });

  test("each finding is one line that starts with file, line and column", async () => {
    const file = write(
      "bad.yaml",
      "format: gw.pack/v1\npack: acme\nactions:\n  get: { effect: rad }\n  put: { effect: write }\n",
    );
    const { exit, out } = await lint(file);
    assert.equal(exit, 1);
    assert.ok(out[0]?.startsWith(`${file}:4:10: error value_not_allowed: /actions/get/effect `), out[0]);
    assert.ok(out[1]?.startsWith(`${file}:5:3: error missing_member: /actions/put `), out[1]);
    assert.equal(out.length, 3);
  });

  test("--json gives one object with every finding", async () => {
    const file = write("bad.json.yaml", "format: gw.pack/v1\npack: acme\nactions:\n  get: { effect: rad }\n");
    const { exit, out } = await lint(file, true);
    assert.equal(exit, 1);
    const record = JSON.parse(out.join("\n"));
    assert.equal(record.ok, false);
    assert.deepEqual(Object.keys(record.findings[0]), [
      "severity",
      "code",
      "file",
      "line",
      "column",
      "path",
      "message",
    ]);
    const sound = JSON.parse((await lint(example, true)).out.join("\n"));
    assert.equal(sound.ok, true);
    assert.equal(sound.pack, "acme");
    assert.deepEqual(
      [...new Set(sound.findings.map(({ severity, code }: Record<string, string>) => `${severity} ${code}`))],
      ["warning pack_preview_missing"],
    );
  });

  test("what a hostile file says cannot drive the terminal", async () => {
    const file = write(
      "esc.yaml",
      'format: gw.pack/v1\npack: acme\nactions:\n  "\\e[2Jx\\n/fake:1:1: ok": { effect: read }\n',
    );
    const { exit, out } = await lint(file);
    assert.equal(exit, 1);
    for (const line of out) assert.doesNotMatch(line, /[\p{Cc}]/u);
  });

  test("a file that is not there is a usage error, and a huge one is not read whole", async () => {
    const missing = await lint(join(folder, "none.yaml"));
    assert.equal(missing.exit, 2);
    assert.match(missing.err[0] ?? "", /ENOENT/);
    assert.equal((await lint(folder)).exit, 2);
    const huge = await lint(write("huge.yaml", Buffer.alloc(2_000_000, 0x20)));
    assert.equal(huge.exit, 1);
    assert.match(huge.out[0] ?? "", /pack_too_large/);
  });
});
