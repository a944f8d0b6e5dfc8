import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { missingForSshd } from "../demo/host/sshd.ts";
import { standInAccount } from "./ssh-stand.ts";
import { asUser, GW, start, within } from "./support/home.ts";

/** `gw demo` as a user with an account, so that its host is one of the scenes. */
standInAccount(import.meta.filename);
const missing = missingForSshd();
/** Far more than it takes: a loaded machine must not fail it, and one that hangs must. */
const LIMIT_MS = 240_000;
const folder = mkdtempSync(join(tmpdir(), "gw-demo-test-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function play(args: readonly string[]): Promise<{ code: number | null; out: string; err: string }> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, TMPDIR: folder, GW_HOME: join(folder, "untouched") };
  return within(start([GW, "demo", ...args], { env }).exited, LIMIT_MS, "the demo ends");
}

/** Whatever runs from the folder of this test. */
function running(): readonly string[] {
  const command = (pid: string): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8");
    } catch {
      return "";
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(command)
    .filter((words) => words.includes(folder));
}

test(
  "the demo plays every scene as told, shows the real cards and leaves the home where it was asked to",
  asUser,
  async (t) => {
    const home = join(folder, "demo");
    const { code, out, err } = await play(["--home", home]);
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
    // Whatever comes before in that scene, it checks itself.
    const box = out.split("a box whose only network is the gateway ==")[1]?.replaceAll(/\s+/g, " ") ?? "";
    assert.match(box, /^ Not played here: |and nothing left the machine:/, "the box is played, or says why not");
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

    await t.test("its host does what it is told", { skip: missing ?? false }, () => {
      for (const words of ["restarted web-1", "field_not_allowed", "it says: succeeded", "in no form"])
        assert.ok(out.includes(words), words);
      const tried = /gw ssh check tries[\s\S]*?\n\n/.exec(out)?.[0] ?? out;
      assert.equal(tried.split("\n").filter((line) => line.startsWith("  | ok ")).length, 8, "everything was tried");
      assert.doesNotMatch(out, /PRIVATE KEY/);
    });

    const again = await play(["--home", home]);
    assert.equal(again.code, 1);
    assert.match(again.err, /^vault_exists: /);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith("gw-demo")),
      [],
      "the demo leaves no other folder behind",
    );
    assert.deepEqual(running(), [], "and nothing that runs");
  },
);
