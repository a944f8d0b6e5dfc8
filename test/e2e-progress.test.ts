import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { before, describe, test } from "node:test";
import { asUser, type Exited, GW, Home, makeFolder, start, within } from "./support/home.ts";

describe("what takes long says on a terminal how far it is, and leaves nothing of it there", asUser, () => {
  let home: Home;
  const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
  const BAR = /[█░]{24} \d+ % of \d+ MB, \d+ s left/;
  const CLEARED = "\r\u001b[K";

  before(async () => {
    home = await new Home(makeFolder()).init();
    const gateway = await home.up();
    // Each change begins a segment.
    for (let round = 0; round < 8; round++)
      await home.must(["policy", "set", "callbacks", round % 2 === 0 ? "loopback" : "off"]);
    await gateway.end("SIGTERM");
  });

  /** The real program on a slow machine; with `terminal`, on a terminal of its own, and then `out` is what came there. */
  function slowly(twin: Home, args: readonly string[], terminal: boolean, into = ""): Promise<Exited> {
    const root = dirname(dirname(GW));
    const source = join(root, "src", "programs", "gw.ts");
    const words = [
      ...[process.execPath, "--disable-sigusr1", "--disable-warning=ExperimentalWarning"],
      ...["--import", join(import.meta.dirname, "support", "slow-clock.ts")],
      ...[existsSync(source) ? source : join(root, "dist", "src", "programs", "gw.js"), ...args],
      ...["--home", twin.folder],
    ];
    const line = `${words.map((word) => `'${word}'`).join(" ")}${into === "" ? "" : ` > '${into}'`}`;
    const command = terminal ? ["script", "-qec", line, "/dev/null"] : ["sh", "-c", line];
    return within(start(command, { env: { ...twin.environment(), SHELL: "/bin/sh" } }).exited, 120_000, args.join(" "));
  }

  /** The bar was there, and the last that was written of it is an empty line. */
  function assertCame(seen: Exited): void {
    assert.equal(seen.code, 0, seen.out);
    assert.match(seen.out, BAR);
    assert.ok(seen.out.lastIndexOf(CLEARED) > seen.out.search(BAR), JSON.stringify(seen.out));
    assert.doesNotMatch(seen.out.slice(seen.out.lastIndexOf(CLEARED)), BAR);
  }

  test("gw audit verify", async () => {
    const verify = ["audit", "verify", "--allow-unattested"];
    const seen = await slowly(home, verify, true);
    assertCame(seen);
    assert.match(seen.out, /intact/i);
    const json = await slowly(home, [...verify, "--json"], true);
    assert.doesNotMatch(json.out, BAR);
  });

  test("gw audit export into a file; through a pipe it shows nothing", async () => {
    const file = join(makeFolder(), "export.jsonl");
    const exported = ["audit", "export", "--passphrase-file", home.passphraseFile];
    assertCame(await slowly(home, exported, true, file));
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    assert.ok(lines.length > 8 && lines.every((line) => typeof JSON.parse(line) === "object"));
    const onScreen = await slowly(home, exported, true);
    assert.equal(onScreen.code, 0, onScreen.out);
    assert.doesNotMatch(onScreen.out, BAR);
    const piped = await slowly(home, exported, false);
    assert.deepEqual([piped.code, piped.out.trimEnd().split("\n").length], [0, lines.length], piped.err);
    assert.doesNotMatch(piped.err, BAR);
  });

  test("gw audit archive, through its three parts", async () => {
    const words = (twin: Home): readonly string[] => [
      ...["audit", "archive", join(makeFolder(), "archive"), "--before", TOMORROW],
      ...["--passphrase-file", twin.passphraseFile],
    ];
    const twin = home.copy();
    const seen = await slowly(twin, words(twin), true);
    assertCame(seen);
    const shares = [...seen.out.matchAll(/ (\d+) % of/g)].map(([, share]) => Number(share));
    assert.ok(shares.length > 2 && shares.at(-1) === 100, JSON.stringify(shares));
    assert.deepEqual(
      shares,
      shares.toSorted((a, b) => a - b),
      "it never goes back",
    );
    const other = home.copy();
    const quiet = await slowly(other, words(other), false);
    assert.equal(quiet.code, 0, quiet.err);
    assert.doesNotMatch(quiet.out + quiet.err, BAR);
  });
});
