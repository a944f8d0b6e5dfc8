import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { createNotifier } from "./notify.ts";

test("the desktop is told in our words alone, with no more of the environment than finds it; without the program nothing is started", async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-notify-"));
  try {
    const [program, heard] = [join(folder, "notify-send"), join(folder, "heard")];
    assert.equal(createNotifier(program, {}), null);
    writeFileSync(
      program,
      `#!/bin/sh\n{ printf '%s\\n' "$@"; /usr/bin/env; } > ${heard}.part\nmv ${heard}.part ${heard}\n`,
    );
    chmodSync(program, 0o700);
    const notify = createNotifier(program, { HOME: "/h", XDG_RUNTIME_DIR: "/r", GW_SECRET: "no", PATH: "/p" });
    assert.ok(notify !== null);
    notify("a card waits for a person");
    for (const giveUpAt = Date.now() + 240_000; !existsSync(heard) && Date.now() < giveUpAt; ) await pause(20);
    const lines = readFileSync(heard, "utf8").split("\n");
    assert.deepEqual(lines.slice(0, 4), ["--app-name=gw", "--", "gw", "a card waits for a person"]);
    assert.ok(lines.includes("HOME=/h") && lines.includes("XDG_RUNTIME_DIR=/r"));
    assert.ok(!lines.some((line) => line.includes("GW_SECRET")));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
