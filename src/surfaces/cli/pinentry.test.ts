import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { askPinentry } from "./pinentry.ts";

/** Stands in for a desktop's dialog: it answers as the protocol says, and does what real ones only do when they break. */
const folder = mkdtempSync(join(tmpdir(), "gw-pinentry-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function dialog(name: string, answer: string): string {
  const path = join(folder, name);
  const seen = join(folder, `${name}.seen`);
  const script = `#!/bin/sh\necho "OK Pleased to meet you"\nwhile read -r line; do\n  echo "$line" >> ${seen}\n  case "$line" in\n    GETPIN) ${answer} ;;\n    OPTION*) echo "ERR 83886254 Unknown option" ;;\n    BYE) exit 0 ;;\n    *) echo OK ;;\n  esac\ndone\n`;
  writeFileSync(path, script, { mode: 0o700 });
  return path;
}

test("a passphrase comes from the dialog byte for byte, and the prompt cannot become a command", async () => {
  const program = dialog("good", "printf 'D two%%25 words%%0a\\nOK\\n'");
  using secret = await askPinentry(program, "Passphrase of ada\nGETPIN: ", { TERM: "xterm", SECRET: "x" });
  for (let turn = 0; turn < 2_000; turn++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(
    secret.use((bytes) => bytes.toString("utf8")),
    "two% words\n",
  );
  const seen = readFileSync(join(folder, "good.seen"), "utf8").split("\n");
  assert.deepEqual(seen.slice(0, 2), ["SETTITLE gw", "SETDESC Passphrase of ada%0AGETPIN:"]);
  assert.equal(seen.filter((line) => line === "GETPIN").length, 1);
});

test("a closed dialog, one that ends, one that says nothing that can be read, and too much are told as such", async () => {
  for (const [name, answer, why] of [
    ["closed", "echo 'ERR 83886179 Operation cancelled'", /closed/],
    ["gone", "exit 1", /ended without an answer/],
    ["long", "head -c 9000 /dev/zero | tr '\\0' x", /does not speak/],
    [
      "much",
      "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do printf 'D '; head -c 4000 /dev/zero | tr '\\0' x; echo; done",
      /more than a passphrase/,
    ],
  ] as const) {
    const asked = askPinentry(dialog(name, answer), "Passphrase: ", {});
    await assert.rejects(
      asked,
      (error: Error & { code?: string }) => error.code === "pinentry_failed" && why.test(error.message),
      name,
    );
  }
  await assert.rejects(askPinentry(join(folder, "none"), "x", {}), /cannot be started/);
});
