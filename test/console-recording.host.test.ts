import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { missingForSshd } from "../demo/host/sshd.ts";
import { allowKeyFile, callFinished, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { type Stand, standInAccount, startStand, writeProgram } from "./ssh-stand.ts";
import { noBrowser, openBrowser, openSight, type Sight } from "./support/browser.ts";
import { type Console, clean, freePort, go, ownComplaints, says, startConsole } from "./support/console.ts";
import type { Gateway, Home } from "./support/home.ts";
import { idOf } from "./support/reply.ts";

/** What a real host wrote over SSH, played back in a real browser. */
standInAccount(import.meta.filename);
const missing = missingForSshd() ?? noBrowser ?? null;
const scripts = mkdtempSync(join(tmpdir(), "gw-console-recording-"));
let stand: Stand;
let home: Home;
let gateway: Gateway;
let served: Console;
let browser: Browser;
let desk: Sight;

before(async () => {
  if (missing !== null) return;
  const hostile =
    "printf 'first line\\n'; sleep 0.2; printf '\\033[2J\\033]0;owned\\007<img src=x onerror=alert(1)>\\n'; echo last";
  const executable = writeProgram({ folder: scripts }, "talk", hostile);
  stand = await startStand({ operations: { talk: { executable } } });
  const keyFile = makeKeyFile(scripts, "id");
  allowKeyFile(stand, keyFile);
  home = await makeSshHome(keyFile, [stand.hostKey]);
  const ssh = sshMember(stand, "talk", stand.hostKey, ", recording: on");
  await home.trustPack("ops", `format: gw.pack/v1\npack: ops\nactions:\n  talk:\n    effect: write\n    ssh: ${ssh}\n`);
  gateway = await home.up();
  served = startConsole(home, await freePort());
  browser = await openBrowser();
  desk = await openSight(browser, await served.nextLink());
});

after(async () => {
  await browser?.close();
  await served?.program.end();
  await gateway?.end();
  if (missing === null) await stand.stop();
  rmSync(scripts, { recursive: true, force: true });
});

test("a call's page plays back what the operation wrote, and what the host meant for a terminal does nothing", {
  skip: missing ?? false,
  timeout: 180_000,
}, async () => {
  const { code, run, err } = await callFinished(home, ["ops.talk"]);
  assert.equal(code, 0, err);
  const [entry] = await home.activity(run);
  await go(desk, `#/call/${idOf(entry, "call_id")}`);
  await desk.page.getByRole("button", { name: "Play what it wrote" }).click();
  await says(desk, /first line/);
  await says(desk, /\\u\{1b\}\[2J/);
  await desk.page.getByRole("button", { name: "Play again" }).waitFor();
  assert.equal(await desk.page.locator("main img").count(), 0);
  await clean(desk, "call-recording");
  assert.deepEqual(ownComplaints(desk), []);
});
