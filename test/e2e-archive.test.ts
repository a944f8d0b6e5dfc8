import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { attest, intentEvent, makeKeys, openTestLog } from "./audit-kit.ts";
import { asUser, codeOf, Home, makeFolder } from "./support/home.ts";
import { killedAt, meanwhile } from "./support/kill.ts";
import { operatorOf } from "./support/operator-key.ts";
import { whole } from "./support/whole.ts";

interface Report {
  readonly verdict: string;
  readonly firstBreach: { readonly code: string } | null;
  readonly notices: readonly { readonly code: string; readonly detail: string }[];
  readonly eras: readonly { readonly vaultGeneration: number; readonly vaultHash: string }[];
  readonly begins: { readonly segment: number; readonly frame: number };
}

describe("the log's older segments are moved away, and the log goes on", { ...asUser, concurrency: 2 }, () => {
  let home: Home;
  const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();

  before(async () => {
    home = await new Home(makeFolder()).init();
    // Each life of the gateway, and each change while it lives, ends a segment.
    for (const word of ["loopback", "off"]) {
      const gateway = await home.up();
      await home.must(["policy", "set", "callbacks", word]);
      await gateway.end(word === "off" ? "SIGKILL" : "SIGTERM");
    }
    await (await home.up()).end("SIGTERM");
  });

  function segmentsOf(folder: string): readonly string[] {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".gwlog"))
      .sort();
  }

  async function check(twin: Home, extra: readonly string[] = []): Promise<Report> {
    return JSON.parse((await twin.run(["audit", "verify", "--json", ...extra])).out) as Report;
  }

  async function archived(): Promise<{ readonly twin: Home; readonly archive: string }> {
    const twin = home.copy();
    const archive = join(makeFolder(), "archive");
    await twin.must(["audit", "archive", archive, "--before", TOMORROW]);
    return { twin, archive };
  }

  test("what is left verifies from the cut, the whole from the archive, and the gateway goes on", async () => {
    const { twin, archive } = await archived();
    const all = segmentsOf(join(home.folder, "audit"));
    assert.ok(segmentsOf(archive).length > 0);
    const log = join(twin.folder, "audit");
    assert.ok(segmentsOf(log).length < all.length);
    const cut = await check(twin);
    assert.deepEqual([cut.verdict, cut.begins.segment > 1], ["intact", true], JSON.stringify(cut));
    assert.deepEqual(
      cut.notices.filter(({ code }) => code === "cut").map(({ detail }) => detail),
      ["ada"],
    );
    const both = await check(twin, ["--archive", archive]);
    assert.deepEqual([both.verdict, both.begins], ["intact", { segment: 1, frame: 0 }], JSON.stringify(both));
    await (await twin.up()).end("SIGTERM");
    assert.equal((await check(twin)).verdict, "intact");
    assert.equal((await twin.events("log_archived")).length, 1);
    // The checkpoint in the archive is one that the log still extends.
    const checkpoint = readdirSync(archive).find((name) => name.endsWith(".checkpoint.note")) ?? "";
    const known = await check(twin, ["--archive", archive, "--checkpoint", join(archive, checkpoint)]);
    assert.equal(known.verdict, "intact", JSON.stringify(known));
  });

  test("a running gateway records it, and a second archive goes on from the first", async () => {
    const { twin, archive } = await archived();
    const gateway = await twin.up();
    for (const word of ["loopback", "off", "loopback"]) await twin.must(["policy", "set", "callbacks", word]);
    await twin.must(["audit", "archive", archive, "--before", TOMORROW]);
    await gateway.end("SIGTERM");
    assert.equal((await check(twin)).verdict, "intact");
    const both = await check(twin, ["--archive", archive]);
    assert.deepEqual([both.verdict, both.begins.segment], ["intact", 1], JSON.stringify(both));
    const again = await twin.operator(["audit", "archive", archive, "--before", "2020-01-01"]);
    assert.deepEqual([again.code, codeOf(again)], [1, "archive_refused"], again.err);
  });

  test("retention in the configuration says what goes, and never more than is closed", async () => {
    const twin = home.copy();
    const archive = join(makeFolder(), "archive");
    const missing = await twin.operator(["audit", "archive", archive]);
    assert.deepEqual([missing.code, codeOf(missing)], [2, "value_not_allowed"], missing.err);
    const config = join(twin.folder, "config.yaml");
    writeFileSync(config, "format: gw.config/v1\nretention: { keep_days: 1, keep_megabytes: 9000 }\n", { mode: 0o600 });
    const young = await twin.operator(["audit", "archive", archive]);
    assert.equal(young.code, 0, "a timer that finds nothing due did not fail");
    assert.match(young.out, /^Nothing was moved/);
    await twin.must(["audit", "archive", archive, "--keep-megabytes", "0"]);
    assert.equal(segmentsOf(join(twin.folder, "audit")).length, 3, "the last two, and the one that tells of it");
    assert.equal((await check(twin)).verdict, "intact");
    writeFileSync(config, "retention: { keep_days: soon }\n");
    const wrong = await twin.operator(["audit", "archive", archive]);
    assert.deepEqual([wrong.code, codeOf(wrong)], [1, "config_invalid"], wrong.err);
  });

  test("killed before any of its changes, it leaves a log that verifies, and archiving again finishes it", async () => {
    const ends: (number | null)[] = [];
    for (let at = 1; ends.at(-1) !== 0; at += whole ? 1 : 8) {
      const twin = home.copy();
      const folder = makeFolder();
      const archive = join(folder, "archive");
      const words = ["audit", "archive", archive, "--before", TOMORROW];
      // Counted over the log and the archive alike: both lie below the machine's folder for temporary files.
      ends.push((await killedAt(at, tmpdir(), twin, words)).code);
      assert.equal((await check(twin)).verdict, "intact", `killed at ${at}`);
      const again = await twin.operator(words);
      assert.ok(again.code === 0 || codeOf(again) === "archive_refused", `killed at ${at}: ${again.err}`);
      const both = await check(twin, ["--archive", archive]);
      assert.deepEqual([both.verdict, both.begins.segment], ["intact", 1], `killed at ${at}`);
    }
    assert.ok(ends.length > 3 && ends.slice(0, -1).every((code) => code === null), JSON.stringify(ends));
  });

  /** Every change of the policy ends a segment while a gateway runs. */
  async function grow(twin: Home, meanwhile: () => Promise<void> = async () => undefined): Promise<void> {
    const gateway = await twin.up();
    for (const word of ["loopback", "off", "loopback"]) await twin.must(["policy", "set", "callbacks", word]);
    await meanwhile();
    await gateway.end("SIGTERM");
  }

  test("one that was killed while it removed what it had moved is finished by the next, wherever the part before is", async () => {
    const { twin, archive } = await archived();
    const log = join(twin.folder, "audit");
    const second = join(makeFolder(), "second");
    for (const into of [archive, second]) {
      await grow(twin, async () => {
        const before = segmentsOf(log);
        await twin.must(["audit", "archive", into, "--before", TOMORROW]);
        const stay = segmentsOf(log);
        const [, ...left] = before.filter((name) => !stay.includes(name));
        assert.ok(left.length > 0, before.join());
        const told = (await twin.events("log_archived")).length;
        for (const name of left) copyFileSync(join(into, name), join(log, name));
        await twin.must(["audit", "archive", into, "--before", TOMORROW]);
        assert.deepEqual(segmentsOf(log), stay);
        assert.equal((await twin.events("log_archived")).length, told, "it was told once");
      });
    }
    const all = await check(twin, ["--archive", archive, "--archive", second]);
    assert.deepEqual([all.verdict, all.begins.segment], ["intact", 1], JSON.stringify(all));
  });

  test("a folder that began with a later part goes on from it, and still proves all that it holds", async () => {
    const { twin } = await archived();
    const second = join(makeFolder(), "second");
    for (const _ of [1, 2]) {
      await grow(twin);
      await twin.must(["audit", "archive", second, "--before", TOMORROW]);
    }
    const [first = ""] = segmentsOf(second);
    const { begins, notices } = JSON.parse(
      (await twin.run(["audit", "verify", "--json", "--allow-unattested", "--log", second])).out,
    ) as Report;
    assert.equal(begins.segment, Number.parseInt(first, 10));
    assert.ok(!notices.some(({ code }) => code === "cut_left"), JSON.stringify(notices));
  });

  test("an archive never replaces what a folder holds of another log, nor takes the log's own folder for another by way of a link", async () => {
    const { twin, archive } = await archived();
    const bytesIn = (folder: string) =>
      readdirSync(folder)
        .sort()
        .map((name) => `${name} ${readFileSync(join(folder, name)).toString("base64")}`);
    const held = bytesIn(archive);
    const other = await new Home(makeFolder()).init();
    await grow(other);
    const refused = await other.operator(["audit", "archive", archive, "--before", TOMORROW]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "archive_refused"], refused.err);
    assert.deepEqual(bytesIn(archive), held);
    const log = join(twin.folder, "audit");
    const link = join(makeFolder(), "link");
    symlinkSync(log, link);
    await grow(twin);
    const before = segmentsOf(log);
    for (const into of [link, join(link, "old")]) {
      const own = await twin.operator(["audit", "archive", into, "--before", TOMORROW]);
      assert.deepEqual([own.code, codeOf(own)], [1, "archive_refused"], own.err);
    }
    assert.deepEqual(segmentsOf(log), before);
    assert.equal((await check(twin)).verdict, "intact");
  });

  test("an operator's copy that missed what was archived meanwhile is read to its end, and says what is not there", async () => {
    const twin = home.copy();
    const log = join(twin.folder, "audit");
    const all = (await twin.operator(["audit", "export"])).out.trimEnd().split("\n");
    const [, second = ""] = segmentsOf(log);
    rmSync(join(log, second));
    const { code, out } = await twin.operator(["audit", "export"]);
    const told = out.trimEnd().split("\n");
    assert.deepEqual([code, told.at(-1)], [1, all.at(-1)]);
    assert.equal(told.filter((line) => "unreadable" in (JSON.parse(line) as object)).length, 1);
  });

  test("who checks or shares the log while an archive moves a part of it away does so from where it begins then", async () => {
    const archiving = () => ["audit", "archive", join(makeFolder(), "archive"), "--before", TOMORROW];
    for (const words of [
      ["audit", "checkpoint"],
      ["audit", "share", "ada"],
    ])
      for (let at = 1, came = true; came; at++) {
        const twin = home.copy();
        const moment = { at, file: join(twin.folder, "audit", segmentsOf(join(twin.folder, "audit"))[1] ?? "") };
        const done = await meanwhile(moment, twin, words, archiving());
        came = /^meanwhile: 0/m.test(done.err);
        assert.ok(done.code === 0 && (came || at > 1), `${words.join(" ")}, ${at}: ${done.err}${done.out}`);
      }
  });

  test("of several archives at once one moves the segments, and the others are told that it is at work", async () => {
    const twin = home.copy();
    const folder = makeFolder();
    const all = await Promise.all(
      [1, 2, 3].map((one) => twin.operator(["audit", "archive", join(folder, `${one}`), "--before", TOMORROW])),
    );
    const codes = all.map((done) => (done.code === 0 ? "moved" : codeOf(done)));
    assert.ok(codes.includes("moved"), codes.join());
    for (const code of codes) assert.ok(["moved", "vault_busy", "archive_refused"].includes(code), codes.join());
    assert.equal((await check(twin)).verdict, "intact");
  });

  test("without the cut, with another's, or with a changed one the log is not intact", async () => {
    const { twin, archive } = await archived();
    const path = join(twin.folder, "audit", "cut.gwcut");
    const text = readFileSync(path, "utf8");
    renameSync(path, `${path}.away`);
    assert.equal((await check(twin)).firstBreach?.code, "segment_missing");
    writeFileSync(path, text.replace(/"nextFrame":(\d+)/, '"nextFrame":1$1'));
    assert.equal((await check(twin)).firstBreach?.code, "cut_signature");
    writeFileSync(path, "gw-audit-cut/\n");
    assert.equal((await check(twin)).firstBreach?.code, "cut_malformed");
    writeFileSync(path, text);
    const [first = ""] = segmentsOf(archive);
    const bytes = readFileSync(join(archive, first));
    bytes[bytes.length - 200] = (bytes[bytes.length - 200] ?? 0) ^ 1;
    writeFileSync(join(archive, first), bytes);
    assert.equal((await check(twin)).verdict, "intact", "the cut stands without the archive");
    assert.equal((await check(twin, ["--archive", archive])).verdict, "not_intact");
  });

  test("a log that is not intact, or behind the head that the operator saw, is not cut", async () => {
    const twin = home.copy();
    const log = join(twin.folder, "audit");
    const [first = ""] = segmentsOf(log);
    const bytes = readFileSync(join(log, first));
    bytes[300] = (bytes[300] ?? 0) ^ 1;
    writeFileSync(join(log, first), bytes);
    const before = segmentsOf(log);
    const refused = await twin.operator(["audit", "archive", join(makeFolder(), "a"), "--before", TOMORROW]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "archive_refused"], refused.err);
    assert.deepEqual(segmentsOf(log), before);
  });

  test("a cut that an operator signed while they were one stands after their removal, under the name that the list of operators has", async () => {
    const twin = home.copy();
    const file = join(makeFolder(), "bob");
    writeFileSync(file, "another horse, another battery, another staple\n", { mode: 0o600 });
    await twin.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", file]);
    const archive = join(makeFolder(), "archive");
    const env = { ...twin.environment(), XDG_STATE_HOME: `${twin.folder}-bob` };
    const bobs = ["--operator", "bob", "--passphrase-file", file];
    const read = async (whose: readonly string[]) => (await twin.run(["audit", "export", ...whose], { env })).out;
    const adas = ["--operator", "ada", "--passphrase-file", twin.passphraseFile];
    const all = await read(adas);
    assert.notEqual(await read(bobs), all, "what was written before he came is closed to him");
    const stranger = await twin.operator(["audit", "share", "eve", "--operator", "ada"]);
    assert.equal(stranger.code, 1, stranger.out);
    await twin.must(["audit", "share", "bob", "--operator", "ada"]);
    assert.equal(await read(bobs), all, "and open once somebody who reads it shares it");
    const done = await twin.run(["audit", "archive", archive, "--before", TOMORROW, ...bobs], { env });
    assert.equal(done.code, 0, done.err);
    await twin.must(["operator", "remove", "bob", "--operator", "ada"]);
    const still = await check(twin);
    assert.deepEqual([still.verdict, still.notices.find(({ code }) => code === "cut")?.detail], ["intact", "bob"]);
  });

  test("what nobody attested is looked at and vouched for where it was moved to, all of it or not at all", async () => {
    const twin = await new Home(makeFolder()).init();
    const log = join(twin.folder, "audit");
    const archive = join(makeFolder(), "archive");
    const [ada] = JSON.parse((await twin.run(["operator", "list", "--json"])).out) as { readonly key: string }[];
    const found = async (extra: readonly string[]) => {
      const { firstBreach, notices } = await check(twin, ["--operator", ada?.key ?? "", ...extra]);
      return [firstBreach?.code, notices.filter(({ code }) => code === "vouched_later").length];
    };
    await (await twin.up(["--locked"])).end("SIGTERM");
    const { operator } = await operatorOf(twin);
    const recipients = [createPublicKey(operator.readingKey)];
    const [vault] = (await check(twin)).eras;
    assert.ok(vault !== undefined);
    const alone = await openTestLog(log, { keys: makeKeys(), recipients, vault });
    for (const one of [1, 2, 3]) {
      await alone.append([intentEvent(one)]);
      if (one < 3) await alone.rotate();
    }
    await alone.close();
    await (await twin.up()).end("SIGTERM");
    // All but the end of what was written alone goes.
    await twin.must(["audit", "archive", archive, "--before", TOMORROW]);
    assert.equal(segmentsOf(archive).length, 3);
    const half = twin.copy();
    const gateway = await twin.up();
    const vouch = async (whose: Home, ...extra: readonly string[]) => {
      const refused = await whose.operator(["audit", "vouch", ...extra]);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "value_not_allowed"], refused.err);
      const [, through = "0"] = /gw audit vouch --through (\d+)/.exec(refused.err) ?? [];
      return ["audit", "vouch", "--through", through, ...extra];
    };
    interface Told {
      readonly looked_from: number;
      readonly parts: readonly { readonly events: Readonly<Record<string, number>> }[];
    }
    const of = ({ out }: { readonly out: string }) => JSON.parse(out) as Told;
    try {
      assert.deepEqual(await found(["--archive", archive]), ["unattested", 0]);
      const empty = await twin.operator(["audit", "vouch", "--archive", makeFolder()]);
      assert.match(empty.err, /^value_not_allowed: .* do not hold all that stands before/);
      const words = await vouch(twin, "--archive", archive);
      const shown = of(await twin.must([...words, "--json"]));
      assert.equal(shown.looked_from, 0);
      assert.deepEqual(
        shown.parts.map(({ events }) => [events["gateway_started"], events["intent_accepted"]]),
        [
          [1, undefined],
          [undefined, 3],
        ],
      );
      assert.deepEqual(await found(["--archive", archive]), [undefined, 2]);
      const nothing = of(await twin.must(["audit", "vouch", "--json"]));
      assert.ok(nothing.looked_from > 0 && nothing.parts.length === 0, JSON.stringify(nothing));
    } finally {
      await gateway.end("SIGTERM");
    }
    // Without the archive what is here is shown, and that there is more under the signature.
    const without = await half.up();
    try {
      const { out } = await half.must(await vouch(half));
      assert.match(out, /^Frames \d+ to \d+, .*: intent_accepted 1$/m);
      assert.match(out, /^What stood before frame \d+ was archived, and is not shown/m);
    } finally {
      await without.end("SIGTERM");
    }
  });

  test("an archive does not make an attestation of a stranger, who calls himself as an operator, into one that counts", async () => {
    const twin = home.copy();
    const log = join(twin.folder, "audit");
    // After a clean stop whoever can write the folder can go on with a part of their own, and attest it with a key of their own.
    const keys = makeKeys();
    const [vault] = (await check(twin)).eras.slice(-1);
    assert.ok(vault !== undefined);
    const forged = await openTestLog(log, { keys, vault });
    await attest(forged, keys, "ada");
    for (const _ of [1, 2, 3]) await forged.rotate();
    await forged.close();
    const [ada] = JSON.parse((await twin.run(["operator", "list", "--json"])).out) as { readonly key: string }[];
    const pinned = ["--operator", ada?.key ?? ""];
    assert.equal((await check(twin, pinned)).firstBreach?.code, "unattested");
    await twin.must(["audit", "archive", join(makeFolder(), "archive"), "--before", TOMORROW]);
    const after = await check(twin, pinned);
    assert.deepEqual([after.firstBreach?.code, after.begins.segment > 1], ["unattested", true], JSON.stringify(after));
  });
});
