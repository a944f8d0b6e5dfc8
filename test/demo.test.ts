import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asUser, GW, makeFolder, start, within } from "./support/home.ts";

/** Far more than it takes: a loaded machine must not fail it, and one that hangs must. */
const LIMIT_MS = 240_000;

function play(args: readonly string[], folder: string): Promise<{ code: number | null; out: string; err: string }> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, TMPDIR: folder, GW_HOME: join(folder, "untouched") };
  return within(start([GW, "demo", ...args], { env }).exited, LIMIT_MS, "the demo ends");
}

test(
  "the demo plays every scene as told, shows the real cards and leaves the home where it was asked to",
  asUser,
  async () => {
    const folder = makeFolder();
    const home = join(folder, "demo");
    const { code, out, err } = await play(["--home", home], folder);
    assert.equal(code, 0, err);
    for (const word of [
      "approval_denied",
      "attempts_exhausted",
      "session_ended",
      "not_found",
      "plan_stale",
      "stale_rollback",
      "outcome_unsettled",
    ]) {
      assert.ok(out.includes(word), `the demo shows ${word}`);
    }
    assert.ok(out.includes("outcome: unknown"));
    assert.match(out, /gw ssh check tries|Not played here: /, "the SSH scene is played, or says why not");
    assert.match(out, /origin_not_in_packs|Not played here: /, "the box is played, or says why not");
    assert.ok(out.includes("anything that this program starts may act in this run"));
    assert.ok(out.includes("  no answer   the question expires, nothing is sent"));
    assert.ok(
      out.includes("worked out again from the bytes above: it matches"),
      "an old approval is shown with its card",
    );
    const signed = /The decision\n.* approved it (\S+Z), with the key/.exec(out)?.[1] ?? "";
    const days = Math.round((Date.now() - Date.parse(signed)) / 86_400_000);
    assert.equal(days, 365, `the decision that is shown was signed a year ago: ${signed}`);
    assert.ok(existsSync(join(home, "vault.json")));
    assert.equal(existsSync(join(folder, "untouched")), false, "the person's own home is not played with");
    const verified = await start([GW, "audit", "verify", "--log", join(home, "audit")]).exited;
    assert.equal(verified.code, 0, verified.out);

    const again = await play(["--home", home], folder);
    assert.equal(again.code, 1);
    assert.match(again.err, /^vault_exists: /);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("gw-demo")),
      [],
      "the demo leaves no other folder behind",
    );
  },
);
