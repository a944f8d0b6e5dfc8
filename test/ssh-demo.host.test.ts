import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { missingForSshd } from "../demo/host/sshd.ts";
import { createClock, systemRandom, systemSleep } from "../src/adapters/platform/system.ts";
import { standInAccount } from "./ssh-stand.ts";
import { GW } from "./support/home.ts";

/** The SSH scene of `gw demo`, as a user with an account. */
standInAccount(import.meta.filename);
const missing = missingForSshd();
/** The demo as the suite compiled it, if it did: one that is loaded from its sources starts all that it plays with from theirs. */
const product = dirname(dirname(realpathSync(GW)));
const [demo, kind] = existsSync(join(product, "src"))
  ? [join(product, "demo"), "ts"]
  : [join(product, "dist", "demo"), "js"];
const { playDemo }: typeof import("../demo/demo.ts") = await import(join(demo, `demo.${kind}`));
const { host }: typeof import("../demo/scenes/host.ts") = await import(join(demo, "scenes", `host.${kind}`));
const folder = mkdtempSync(join(tmpdir(), "gw-ssh-demo-"));
after(() => rmSync(folder, { recursive: true, force: true }));

test("the demo's host does what it is told, and nothing of it is left", { skip: missing ?? false }, async () => {
  const said: string[] = [];
  let server = 0;
  let files = "";
  const io = { out: (line: string) => void said.push(line), err: (line: string) => void said.push(line) };
  const ports = { clock: createClock(), random: systemRandom, sleep: systemSleep };
  const before = readdirSync(tmpdir());
  const seen = {
    name: "seen",
    title: "Seen",
    async play(stage: Parameters<typeof host.play>[0]) {
      assert.ok(typeof stage.host !== "string", String(stage.host));
      server = stage.host.server.pid;
      files = stage.host.folder;
      assert.ok(existsSync(files));
    },
  };
  const exit = await playDemo({ home: join(folder, "home"), json: false }, io, ports, [seen, host]);
  const text = said.join("\n");
  assert.equal(exit, 0, text);
  for (const words of ["restarted web-1", "field_not_allowed", "outcome: unknown", "it says: succeeded", "in no form"])
    assert.ok(text.includes(words), words);
  assert.equal(text.split("\n").filter((line) => line.startsWith("  | ok ")).length, 8, "everything was tried");
  assert.doesNotMatch(text, /PRIVATE KEY/);
  assert.throws(() => process.kill(server, 0), { code: "ESRCH" });
  assert.equal(existsSync(files), false);
  const left = readdirSync(tmpdir()).filter((name) => name.startsWith("gw-demo") && !before.includes(name));
  assert.deepEqual(left, []);
});
