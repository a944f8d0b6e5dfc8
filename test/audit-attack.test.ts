import assert from "node:assert/strict";
import { chmodSync, readFileSync, renameSync, rmSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { signCheckpoint } from "../src/audit/checkpoint/checkpoint.ts";
import { growTree } from "../src/audit/checkpoint/tree.ts";
import { type Cut, signCut } from "../src/audit/cut/cut.ts";
import { OPEN_REASONS } from "../src/audit/frame/bodies.ts";
import { type FrameHeader, linkOf, writeHeader } from "../src/audit/frame/layout.ts";
import { signBytes } from "../src/audit/keys/raw.ts";
import { sealMessage } from "../src/audit/keys/seal-key.ts";
import type { VerifyReport } from "../src/audit/verify/report.ts";
import { scanSegment } from "../src/audit/verify/scan.ts";
import { startThreads } from "../src/audit/verify/scan-threads.ts";
import { type ScanAhead, type ToScan, verifyLog } from "../src/audit/verify/verify.ts";
import { runAuditVerify } from "../src/surfaces/cli/audit/verify.ts";
import type { CliIo } from "../src/surfaces/cli/io.ts";
import {
  assemble,
  attest,
  copyFolder,
  type Dissected,
  dissect,
  finishedEvent,
  freshFolder,
  intentEvent,
  type Keys,
  makeKeys,
  openTestLog,
  rechain,
  removeFolders,
  segmentFiles,
} from "./audit-kit.ts";
import { sampleOf } from "./support/whole.ts";

/**
 * Attacks on a finished log. "Raw" ones only move bytes; "re-chained" ones also recompute every number and link, which
 * needs no key: only the seals, the attestations and witnesses outside the folder stand against those.
 */
const keys: Keys = makeKeys();
const OPEN = 1;
const DATA = 2;
const SEAL = 3;
const ATTEST = 4;
let small: string;
let large: string;
let twin: string;

before(async () => {
  small = await writeSmall("small");
  large = await writeLarge("large");
  twin = await writeLarge("twin");
});
after(removeFolders);

async function writeSmall(seed: string): Promise<string> {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, seed });
  await log.append([intentEvent(1)]);
  await attest(log, keys);
  await log.append([finishedEvent(1)]);
  await log.close();
  return folder;
}

/** Three processes, one rotation: segments 1 and 2 of the first, 3 ends unclean with a torn frame, 4 declares it. */
async function writeLarge(seed: string): Promise<string> {
  const folder = freshFolder();
  let log = await openTestLog(folder, { keys, seed: `${seed}-1` });
  await attest(log, keys);
  for (let id = 0; id < 6; id++) await log.append([intentEvent(id), finishedEvent(id)]);
  await log.seal();
  await log.append([intentEvent("mid")]);
  await log.rotate();
  for (let id = 6; id < 10; id++) await log.append([intentEvent(id)]);
  await log.close();
  log = await openTestLog(folder, { keys, seed: `${seed}-2` });
  await attest(log, keys);
  for (let id = 10; id < 14; id++) await log.append([intentEvent(id)]);
  await killed(folder, log);
  truncateSync(pathOf(folder, 3), contentEnd(folder, 3) - 5);
  log = await openTestLog(folder, { keys, seed: `${seed}-3` });
  await attest(log, keys);
  await log.append([finishedEvent(13)]);
  await log.close();
  return folder;
}

/** The state that SIGKILL leaves: the files as they are, and the lock gone with the process. */
async function killed(folder: string, log: Awaited<ReturnType<typeof openTestLog>>): Promise<void> {
  const state = copyFolder(folder);
  await log.close();
  rmSync(folder, { recursive: true });
  renameSync(state, folder);
}

function pathOf(folder: string, segment: number): string {
  return join(folder, `${String(segment).padStart(10, "0")}.gwlog`);
}

function contentEnd(folder: string, segment: number): number {
  const bytes = readFileSync(pathOf(folder, segment));
  let end = bytes.length;
  while (bytes[end - 1] === 0) end--;
  return end;
}

function edit(folder: string, segment: number, change: (parts: Dissected) => void): void {
  const parts = dissect(pathOf(folder, segment));
  change(parts);
  assemble(pathOf(folder, segment), parts);
}

const inline = {
  scanAhead: (segments: readonly ToScan[]): ScanAhead => ({
    take: async (wanted) => {
      const path = segments.find(({ segment }) => segment === wanted)?.path;
      return path === undefined ? null : scanSegment(path);
    },
    close: () => undefined,
  }),
};

/** In one walk, and with each segment looked at by itself first: whatever was done to the log, both say the same. */
async function verify(folder: string, extra: object = {}): Promise<VerifyReport> {
  const options = { folder, operators: [keys.operator], ...extra };
  const report = await verifyLog(options);
  assert.deepEqual(await verifyLog({ ...options, ...inline }), report);
  return report;
}

async function assertFound(folder: string, ...codes: string[]): Promise<VerifyReport> {
  const report = await verify(folder);
  assert.equal(report.exit, 1, `exit ${report.exit} ${report.trouble}`);
  assert.ok(codes.includes(report.firstBreach?.code ?? ""), `found ${report.firstBreach?.code}, expected ${codes}`);
  return report;
}

test("segments that threads looked at ahead of the walk give the same report, also where one cannot be read", async () => {
  const report = await verify(large);
  const seen: (boolean | undefined)[] = [];
  const onThreads = (change: (segment: ToScan) => ToScan, threads: number) => (segments: readonly ToScan[]) => {
    const ahead = startThreads(segments.map(change), threads);
    return {
      ...ahead,
      async take(segment: number) {
        const scan = await ahead.take(segment);
        seen.push(scan !== null);
        return scan;
      },
    };
  };
  assert.deepEqual(await verify(large, { scanAhead: onThreads((one) => one, 2) }), report);
  // The third was torn when its writer was killed: the walk looks at that one itself.
  assert.deepEqual(seen, [true, true, false, true]);
  // A single thread may be ahead by less than there is: it goes on as the walk does.
  const gone = onThreads((one) => (one.segment === 2 ? { ...one, path: join(large, "nothing") } : one), 1);
  assert.deepEqual(await verify(large, { scanAhead: gone }), report);
  // One that was cut back between the two looks is looked at as it is now.
  const folder = copyFolder(large);
  const emptied = (segments: readonly ToScan[]): ScanAhead => {
    const ahead = startThreads(segments, 1);
    const cutBack = (segment: number) => segment === 4 && truncateSync(pathOf(folder, 4), 0);
    return { ...ahead, take: (segment) => ahead.take(segment).finally(() => cutBack(segment)) };
  };
  assert.equal((await verifyLog({ folder, operators: [keys.operator], scanAhead: emptied })).exit, 1);
});

test("a thread that ends with segments in hand leaves them to the walk, which finds what is there", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, seed: "turned" });
  await attest(log, keys);
  for (let id = 0; id < 8; id++) {
    await log.append([intentEvent(id)]);
    await log.rotate();
  }
  await log.close();
  const untouched = await verify(folder);
  assert.deepEqual([untouched.verdict, untouched.segments], ["intact", 9]);
  const changed = copyFolder(folder);
  edit(changed, 5, ({ pieces }) => void pieces[indexOf(pieces, DATA, 0)]?.body.fill(7));
  const found = await assertFound(changed, "frame_link");
  for (const [of, report] of [
    [folder, untouched],
    [changed, found],
  ] as const) {
    const paths = segmentFiles(of).map((path, index) => ({ segment: index + 1, path, bytes: 1 }));
    const ended = Promise.withResolvers<void>();
    // It scans what may be ahead of the walk, four of them, takes the fifth and waits with it: that is when it ends.
    process.once("worker", (worker) => {
      let scanned = 0;
      worker.on("message", () => ++scanned === 4 && void worker.terminate());
      worker.on("exit", () => ended.resolve());
    });
    const ahead = startThreads(paths, 2);
    await ended.promise;
    const options = { folder: of, operators: [keys.operator] };
    assert.deepEqual(await verifyLog({ ...options, scanAhead: () => ahead }), report);
  }
});

test("a log that nobody touched is intact, and its unclean end is said", async () => {
  for (const folder of [small, large, twin]) {
    const report = await verify(folder);
    assert.equal(report.exit, 0, JSON.stringify(report.firstBreach));
  }
  const report = await verify(large);
  assert.equal(report.segments, 4);
  assert.deepEqual(
    report.eras.map(({ reason, attestedBy }) => [reason, ...attestedBy]),
    [
      ["genesis", "ada"],
      ["boot", "ada"],
      ["crash", "ada"],
    ],
  );
  const [end] = report.uncleanEnds;
  assert.equal(report.uncleanEnds.length, 1);
  assert.equal(end?.segment, 3);
  assert.equal(end?.acknowledgedBy, "ada");
  assert.ok((end?.tornBytes ?? 0) > 0);
});

test("any bit flip is found: any byte of a small log", async () => {
  const path = pathOf(small, 1);
  const original = readFileSync(path);
  const folder = copyFolder(small);
  // Looking for a live writer is not what this is about, and takes longer than the rest.
  rmSync(join(folder, "writer.lock"));
  const target = pathOf(folder, 1);
  const missed: number[] = [];
  for (const at of sampleOf("bytes of a small log", [...original.keys()], 120)) {
    const bytes = Buffer.from(original);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
    writeFileSync(target, bytes);
    if ((await verify(folder)).exit !== 1) missed.push(at);
  }
  assert.deepEqual(missed, []);
});

test("any bit flip is found: sampled bits of a larger log with four segments", async () => {
  const missed: string[] = [];
  const folder = copyFolder(large);
  for (const segment of [1, 2, 3, 4]) {
    const path = pathOf(folder, segment);
    const original = readFileSync(path);
    const end = contentEnd(large, segment);
    const steps = Array.from({ length: 150 }, (_, step) => step);
    for (const step of sampleOf(`bits of segment ${segment}`, steps, 12)) {
      const at = Math.floor(((step + 0.5) * end) / 150);
      const bytes = Buffer.from(original);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (step % 8));
      writeFileSync(path, bytes);
      if ((await verify(folder)).exit !== 1) missed.push(`${segment}:${at}`);
    }
    writeFileSync(path, original);
  }
  assert.deepEqual(missed, []);
});

test("a bit flip names the frame that was changed", async () => {
  const folder = copyFolder(large);
  edit(folder, 1, ({ pieces }) => {
    const piece = pieces[4];
    assert.ok(piece);
    piece.body[3] = (piece.body[3] ?? 0) ^ 1;
  });
  const report = await assertFound(folder, "frame_link");
  assert.equal(report.firstBreach?.frame, 4);
  assert.equal(report.firstBreach?.segment, 1);
});

const frameAttacks: Readonly<Record<string, (parts: Dissected) => void>> = {
  "a dropped record": ({ pieces }) => void pieces.splice(indexOf(pieces, DATA, 1), 1),
  "a dropped seal": ({ pieces }) => void pieces.splice(indexOf(pieces, SEAL, 1), 1),
  "a dropped attestation": ({ pieces }) => void pieces.splice(indexOf(pieces, ATTEST, 0), 1),
  "two records swapped": ({ pieces }) => swap(pieces, indexOf(pieces, DATA, 0), indexOf(pieces, DATA, 1)),
  "a record swapped with a seal": ({ pieces }) => swap(pieces, indexOf(pieces, DATA, 5), indexOf(pieces, DATA, 5) + 1),
  "a record duplicated": ({ pieces }) => {
    const at = indexOf(pieces, DATA, 1);
    const piece = pieces[at];
    assert.ok(piece);
    pieces.splice(at, 0, { ...piece });
  },
  "a seal duplicated": ({ pieces }) => {
    const at = indexOf(pieces, SEAL, 1);
    const piece = pieces[at];
    assert.ok(piece);
    pieces.splice(at, 0, { ...piece });
  },
  "a record's body replaced": ({ pieces }) => void pieces[indexOf(pieces, DATA, 2)]?.body.fill(7),
  "seals stripped": (parts) => {
    parts.pieces = parts.pieces.filter(({ type }) => type !== SEAL);
  },
  "all but the first seal stripped": (parts) => {
    let seen = 0;
    parts.pieces = parts.pieces.filter(({ type }) => type !== SEAL || seen++ === 0);
  },
  "a seal dated anew": ({ pieces }) => void pieces[indexOf(pieces, SEAL, 1)]?.body.writeUInt32LE(1_600_000_000, 8),
  "an attestation under another name": ({ pieces }) => {
    const body = pieces[indexOf(pieces, ATTEST, 0)]?.body;
    body?.write("eve", body.length - 64 - 3);
  },
  "another vault state in the OPEN frame": ({ pieces }) =>
    void pieces[indexOf(pieces, OPEN, 0)]?.body.writeUInt8(9, 36),
  "another recipient in the OPEN frame": ({ pieces }) => void pieces[indexOf(pieces, OPEN, 0)]?.body.fill(1, 196),
};

for (const [name, change] of Object.entries(frameAttacks)) {
  test(`raw: ${name} is found`, async () => {
    const folder = copyFolder(large);
    edit(folder, 1, change);
    await assertFound(folder, "frame_link", "frame_number");
  });
  test(`re-chained: ${name} is found`, async () => {
    const folder = copyFolder(large);
    edit(folder, 1, change);
    rechain(folder);
    await assertFound(
      folder,
      "seal_signature",
      "seal_count",
      "seal_missing",
      "frame_misplaced",
      "attest_malformed",
      "attest_mismatch",
    );
  });
  test(`re-chained: ${name} is found by who remembers a seal behind it, without the signatures before that`, async () => {
    const { sealed } = await verify(large);
    const folder = copyFolder(large);
    edit(folder, 1, change);
    rechain(folder);
    const { exit, firstBreach } = await verify(folder, { sealed });
    const codes = [
      "head_mismatch",
      "seal_count",
      "seal_missing",
      "frame_misplaced",
      "attest_mismatch",
      "length_mismatch",
    ];
    assert.deepEqual([exit, codes.includes(firstBreach?.code ?? "")], [1, true], firstBreach?.code);
  });
}

test("signatures up to a seal that was found good before are not verified again, and those behind it are", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  for (let turn = 0; turn < 3; turn++) {
    await log.append([intentEvent(turn)]);
    await log.seal();
  }
  await log.close();
  edit(folder, 1, ({ pieces }) => {
    const { body } = pieces[indexOf(pieces, SEAL, 2)] ?? assert.fail();
    body.writeUInt8(body.readUInt8(body.length - 1) ^ 1, body.length - 1);
  });
  rechain(folder);
  const seals = dissect(pathOf(folder, 1)).pieces.filter(({ type }) => type === SEAL);
  const sealedAt = (index: number) => {
    const { frame, link } = seals.at(index) ?? assert.fail();
    return { allowUnattested: true, sealed: { frame, link: link.toString("hex") } };
  };
  const codeOf = async (extra: object) => (await verify(folder, { operators: undefined, ...extra })).firstBreach?.code;
  assert.equal(await codeOf({ allowUnattested: true }), "seal_signature");
  assert.equal(await codeOf(sealedAt(1)), "seal_signature");
  assert.equal(await codeOf(sealedAt(-1)), undefined);
  const { sealed, ...unattested } = sealedAt(-1);
  assert.equal(await codeOf({ ...unattested, sealed: { ...sealed, link: "0".repeat(64) } }), "head_mismatch");
  assert.equal(await codeOf({ ...unattested, sealed: { ...sealed, frame: sealed.frame + 1 } }), "head_behind");
});

test("re-chained: seals stripped from the last segment leave records before the first seal, which is found", async () => {
  // With the attestations gone too it is a record, and not a mark, that stands right behind the OPEN.
  for (const stripped of [[SEAL], [SEAL, ATTEST]]) {
    const folder = copyFolder(large);
    edit(folder, 4, (parts) => {
      parts.pieces = parts.pieces.filter(({ type }) => !stripped.includes(type));
    });
    rechain(folder);
    await assertFound(folder, "seal_missing");
  }
});

test("a splice of two logs is found, raw and re-chained", async () => {
  const raw = copyFolder(large);
  writeFileSync(pathOf(raw, 3), readFileSync(pathOf(twin, 3)));
  await assertFound(raw, "segment_not_continued");
  const rechained = copyFolder(large);
  writeFileSync(pathOf(rechained, 3), readFileSync(pathOf(twin, 3)));
  rechain(rechained);
  await assertFound(rechained, "open_other_log");
});

test("frames of another log spliced into a segment are found, raw and re-chained", async () => {
  const foreign = dissect(pathOf(twin, 1)).pieces.filter(({ type }) => type === DATA);
  for (const fix of [false, true]) {
    const folder = copyFolder(large);
    edit(folder, 1, ({ pieces }) => void pieces.splice(indexOf(pieces, DATA, 2), 1, ...foreign.slice(2, 3)));
    if (fix) rechain(folder);
    await assertFound(folder, "frame_link", "seal_signature");
  }
});

test("a removed segment is found", async () => {
  for (const segment of [1, 2, 3]) {
    const folder = copyFolder(large);
    unlinkSync(pathOf(folder, segment));
    const report = await assertFound(folder, "segment_missing");
    assert.equal(report.firstBreach?.segment, segment);
  }
});

test("re-chained: a removed segment, its successors renamed, is found", async () => {
  const folder = copyFolder(large);
  renameSync(pathOf(folder, 3), pathOf(folder, 2));
  renameSync(pathOf(folder, 4), pathOf(folder, 3));
  rechain(folder);
  await assertFound(folder, "open_other_number");
});

test("swapped segments are found, raw and re-chained", async () => {
  for (const fix of [false, true]) {
    const folder = copyFolder(large);
    renameSync(pathOf(folder, 2), join(folder, "aside"));
    renameSync(pathOf(folder, 3), pathOf(folder, 2));
    renameSync(join(folder, "aside"), pathOf(folder, 3));
    if (fix) rechain(folder);
    await assertFound(folder, "segment_not_continued", "open_other_number");
  }
});

test("a planted segment is found, raw and re-chained", async () => {
  for (const fix of [false, true]) {
    const folder = copyFolder(large);
    writeFileSync(pathOf(folder, 5), readFileSync(pathOf(twin, 4)));
    if (fix) rechain(folder);
    await assertFound(folder, "segment_not_continued", "open_other_log");
  }
});

test("a whole process's part, forged by someone without a pinned key, is found for want of an attestation", async () => {
  const folder = copyFolder(large);
  const mallory = makeKeys();
  const log = await openTestLog(folder, { keys: mallory });
  await log.append([intentEvent("forged")]);
  await attest(log, mallory, "ada");
  await log.close();
  const report = await assertFound(folder, "unattested");
  assert.ok(report.notices.some(({ code }) => code === "attester_not_pinned"));
  // Without a pin the forged name passes: the report must not be read as more than it says.
  assert.equal((await verifyLog({ folder })).exit, 0);
});

test("a segment that nobody attested is not intact unless that is allowed", async () => {
  const folder = copyFolder(large);
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent("x")]);
  await log.close();
  await assertFound(folder, "unattested");
  const allowed = await verify(folder, { allowUnattested: true });
  assert.equal(allowed.exit, 0);
  assert.ok(allowed.notices.some(({ code }) => code === "unattested"));
});

test("a part that nobody attested counts once a pinned operator vouches for it, and only for what stands before", async () => {
  const folder = copyFolder(large);
  const mallory = makeKeys();
  const start = async (by: typeof keys | null, earlier: boolean): Promise<void> => {
    const log = await openTestLog(folder, { keys: by ?? keys });
    await log.append([intentEvent("alone")]);
    if (by !== null) await attest(log, by, "ada", earlier);
    await log.close();
  };
  await start(null, false);
  await start(keys, false);
  await assertFound(folder, "unattested");
  await start(mallory, true);
  const forged = await assertFound(folder, "unattested");
  assert.equal(forged.breaches.length, 2, "a stranger vouches for nobody, not even for their own part");
  await start(keys, true);
  const vouched = await verify(folder);
  assert.equal(vouched.exit, 0);
  const later = vouched.notices.filter(({ code }) => code === "vouched_later");
  assert.deepEqual([later.length, ...later.map(({ detail }) => detail)], [2, "ada", "ada"]);
  await start(null, false);
  assert.equal((await verify(folder)).breaches.length, 1, "what comes behind the signature is not under it");
});

test("a cut at a seal or between frames of the last segment is shown as an unclean end", async () => {
  const { pieces } = dissect(pathOf(large, 4));
  for (let keep = 5; keep < pieces.length; keep++) {
    const folder = copyFolder(large);
    edit(folder, 4, (parts) => void parts.pieces.splice(keep));
    const report = await verify(folder);
    assert.equal(report.exit, 0, `${keep} ${report.firstBreach?.code}`);
    assert.ok(report.notices.some(({ code }) => code === "unclean_end"));
  }
});

test("a cut between frames or at a seal of an earlier segment is found, raw and re-chained", async () => {
  for (const fix of [false, true]) {
    for (const segment of [1, 2, 3]) {
      const count = dissect(pathOf(large, segment)).pieces.length;
      for (let keep = 1; keep < count; keep++) {
        const folder = copyFolder(large);
        edit(folder, segment, (parts) => {
          parts.pieces.splice(keep);
          parts.rest = Buffer.alloc(0);
        });
        if (fix) rechain(folder);
        assert.equal((await verify(folder)).exit, 1, `segment ${segment} cut to ${keep}`);
      }
    }
  }
});

test("a cut in the middle of a frame is found", async () => {
  const folder = copyFolder(large);
  truncateSync(pathOf(folder, 4), contentEnd(folder, 4) - 1);
  await assertFound(folder, "tail_undeclared");
  truncateSync(pathOf(folder, 4), 100);
  await assertFound(folder, "frame_impossible");
});

test("a rollback to an old copy is not found by the folder alone, and is found by each kind of witness", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await attest(log, keys);
  await log.append([intentEvent(1)]);
  const old = copyFolder(folder);
  await log.append([finishedEvent(1)]);
  await log.close();
  const later = await verify(folder);
  assert.equal(later.exit, 0);
  assert.ok(later.sealed && later.head);

  assert.equal((await verify(old)).exit, 0, "nothing in the folder itself can tell");

  const checkpoint = checkpointOf(later);
  assert.equal((await verify(folder, { checkpoint })).exit, 0);
  assert.equal((await verify(old, { checkpoint })).firstBreach?.code, "checkpoint_behind");
  const heads = [{ frame: later.head.frame, link: later.head.link }];
  assert.equal((await verify(folder, { heads })).exit, 0);
  assert.equal((await verify(old, { heads })).firstBreach?.code, "head_behind");
});

test("a rollback past an attestation leaves a log that no pinned operator attested", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent(1)]);
  await log.seal();
  const old = copyFolder(folder);
  await attest(log, keys);
  await log.close();
  assert.equal((await verify(folder)).exit, 0);
  assert.equal((await verify(old)).firstBreach?.code, "unattested");
});

test("a log rewritten from the start is found by a checkpoint and by a remembered head", async () => {
  const original = await verify(large);
  assert.ok(original.sealed);
  const checkpoint = checkpointOf(original);
  assert.equal((await verify(twin)).exit, 0);
  assert.equal((await verify(twin, { checkpoint })).exit, 1);
  const heads = [{ frame: 3, link: original.head?.link ?? "" }];
  assert.equal((await verify(twin, { heads })).firstBreach?.code, "head_mismatch");
});

test("a checkpoint of a stranger, of another log or of a changed text is refused", async () => {
  const report = await verify(large);
  const stranger = makeKeys();
  const mine = checkpointOf(report);
  assert.equal(
    (await verify(large, { checkpoint: checkpointOf(report, stranger) })).firstBreach?.code,
    "checkpoint_signature",
  );
  assert.equal((await verify(small, { checkpoint: mine })).firstBreach?.code, "checkpoint_other_log");
  assert.equal((await verify(large, { checkpoint: "nonsense" })).firstBreach?.code, "checkpoint_malformed");
  const changed = mine.replace(/\n(\d+)\n/, (_, size: string) => `\n${Number(size) - 1}\n`);
  assert.equal((await verify(large, { checkpoint: changed })).exit, 1);
});

test("kill, truncate, start again: only a witness finds what is gone, and the unclean end is said", async () => {
  const folder = freshFolder();
  let log = await openTestLog(folder, { keys, seed: "a" });
  await attest(log, keys);
  const sealed = await log.seal();
  await log.append([intentEvent(1)]);
  await log.append([finishedEvent(1)]);
  const seen = log.head();
  await killed(folder, log);
  edit(folder, 1, (parts) => {
    parts.pieces.splice(sealed.frame + 1);
    parts.rest = Buffer.alloc(0);
  });
  log = await openTestLog(folder, { keys, seed: "b" });
  assert.equal(log.opened.reason, "crash");
  await attest(log, keys);
  await log.close();
  const report = await verify(folder);
  assert.equal(report.exit, 0, report.firstBreach?.code);
  assert.equal(report.uncleanEnds[0]?.lastFrame, sealed.frame);
  assert.equal(report.uncleanEnds[0]?.acknowledgedBy, "ada");
  assert.equal((await verify(folder, { heads: [seen] })).exit, 1);
});

test("a changed frame is not laundered by the next start: the writer refuses to go on", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  for (let id = 0; id < 4; id++) await log.append([intentEvent(id)]);
  await killed(folder, log);
  edit(folder, 1, ({ pieces }) => void pieces[3]?.body.fill(1));
  await assert.rejects(openTestLog(folder, { keys }), { code: "log_damaged" });
  await assertFound(folder, "frame_link");
});

test("garbage after the end is found", async () => {
  for (const garbage of [Buffer.from("x"), Buffer.alloc(300, 0xff), Buffer.alloc(5_000_000, 7)]) {
    const folder = copyFolder(large);
    const path = pathOf(folder, 4);
    writeFileSync(path, Buffer.concat([readFileSync(path), garbage]));
    await assertFound(folder, "tail_after_stop", "frame_impossible");
  }
});

test("garbage after a segment in the middle is found", async () => {
  const folder = copyFolder(large);
  const path = pathOf(folder, 1);
  writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.from("x")]));
  await assertFound(folder, "frame_impossible");
});

test("a segment of zeros, of one byte and of none is found", async () => {
  for (const bytes of [Buffer.alloc(4096), Buffer.from("G"), Buffer.alloc(0)]) {
    for (const segment of [1, 2, 4]) {
      const folder = copyFolder(large);
      writeFileSync(pathOf(folder, segment), bytes);
      // The third segment ends torn, and with the fourth gone nothing declares that: its break is found first.
      const report = await assertFound(folder, segment === 4 ? "frame_impossible" : "segment_unknown");
      assert.equal(report.firstBreach?.segment, segment === 4 ? 3 : segment);
    }
  }
});

test("a segment that holds only its header is found", async () => {
  const folder = copyFolder(large);
  truncateSync(pathOf(folder, 4), 40);
  await assertFound(folder, "segment_empty");
});

test("huge length fields are found without reading that much", async () => {
  for (const length of [0xffff_ffff, 4_194_305, 4_194_304, 0x7fff_ffff]) {
    const folder = copyFolder(large);
    const path = pathOf(folder, 1);
    const bytes = readFileSync(path);
    bytes.writeUInt32LE(length, 40);
    writeFileSync(path, bytes);
    await assertFound(folder, "frame_impossible");
  }
});

test("a folder without a log, a missing folder and a file that may not be read are exit 2", async () => {
  assert.equal((await verify(freshFolder())).exit, 2);
  const missing = await verify(join(freshFolder(), "none"));
  assert.deepEqual([missing.exit, missing.trouble?.includes("(ENOENT, scandir)")], [2, true]);
  if (process.getuid?.() === 0) return;
  const folder = copyFolder(large);
  chmodSync(pathOf(folder, 2), 0);
  const report = await verify(folder);
  assert.equal(report.exit, 2);
  assert.equal(report.verdict, "unreadable");
});

function checkpointOf(report: VerifyReport, signer: Keys = keys): string {
  assert.ok(report.sealed && report.logId);
  const { frame, link, timeSeconds, seals } = report.sealed;
  const root = Buffer.from(report.root, "hex");
  return signCheckpoint({ logId: report.logId, seals, root, frame, link, timeSeconds }, signer.approver);
}

function indexOf(pieces: Dissected["pieces"], type: number, nth: number): number {
  const found = pieces.flatMap((piece, index) => (piece.type === type ? [index] : []))[nth];
  assert.ok(found !== undefined, `there is no ${nth}th frame of type ${type}`);
  return found;
}

function swap(pieces: Dissected["pieces"], a: number, b: number): void {
  const [first, second] = [pieces[a], pieces[b]];
  assert.ok(first && second);
  pieces[a] = second;
  pieces[b] = first;
}

/** What `gw audit archive` leaves: the segments from `segment` on beside a signed cut, the older ones in the archive. */
async function cutBefore(segment: number, signer: Keys = keys) {
  const folder = copyFolder(large);
  const { cut } = await verify(folder, { cutAt: segment });
  assert.ok(cut !== null);
  const archive = freshFolder();
  for (let one = 1; one < segment; one++) renameSync(pathOf(folder, one), pathOf(archive, one));
  writeFileSync(join(folder, "cut.gwcut"), signCut(cut, signer.approver));
  return { folder, archive, cut };
}

/** A frame that was moved away, and of which the cut says nothing: a record. */
function unnamedIn({ nextFrame, attestable }: Cut): number {
  const named = new Set(attestable.map(([frame]) => frame));
  const found = Array.from({ length: nextFrame - 1 }, (_, frame) => frame).find((frame) => !named.has(frame));
  assert.ok(found !== undefined);
  return found;
}

const codesOf = ({ notices }: VerifyReport): string[] => notices.map(({ code }) => code);

for (const segment of [2, 3, 4]) {
  test(`a log that was cut before segment ${segment} is proven from there on, and from its beginning with what was moved away`, async () => {
    const { folder, archive, cut } = await cutBefore(segment);
    const [before, whole, later] = [
      await verify(large),
      await verify(folder, { archives: [archive] }),
      await verify(folder),
    ];
    assert.deepEqual([later.verdict, later.begins], ["intact", { segment, frame: cut.nextFrame }]);
    assert.deepEqual([whole.verdict, whole.begins], ["intact", { segment: 1, frame: 0 }]);
    for (const report of [later, whole])
      assert.deepEqual([report.head, report.sealed, report.root], [before.head, before.sealed, before.root]);
    assert.ok(codesOf(later).includes("cut") && !codesOf(whole).includes("cut"));
    edit(folder, 4, ({ pieces }) => swap(pieces, indexOf(pieces, SEAL, 0), indexOf(pieces, DATA, 0)));
    assert.equal((await verify(folder)).verdict, "not_intact");
  });
}

test("a cut counts by whom and when it was signed, and is judged only where something is missing", async () => {
  const stranger = makeKeys();
  const { folder, archive } = await cutBefore(3, stranger);
  assert.equal((await verify(folder)).firstBreach?.code, "cut_signature");
  const anybody = await verifyLog({ folder, allowUnattested: true });
  assert.deepEqual([anybody.verdict, codesOf(anybody).includes("cut_not_pinned")], ["intact", true]);
  const opened = Math.floor((await verify(large)).attestations[1]?.timeSeconds ?? 0);
  const cutters = (removedAtSeconds: number | null) => [{ key: stranger.operator, name: "bob", removedAtSeconds }];
  const by = (removed: number | null) => verifyLog({ folder, allowUnattested: true, cutters: cutters(removed) });
  assert.equal((await by(opened - 3_600)).firstBreach?.code, "cut_signer_removed");
  assert.deepEqual(
    (await by(opened + 3_600)).notices.filter(({ code }) => code === "cut").map(({ detail }) => detail),
    ["bob"],
  );
  // Pinned, the key counts as its owner says; the list gives the name, and when they were removed.
  const both = { operators: [keys.operator, stranger.operator], cutters: cutters(opened - 3_600) };
  assert.equal((await verify(folder, both)).firstBreach?.code, "cut_signer_removed");
  assert.equal((await verify(folder, { operators: [keys.operator, stranger.operator] })).verdict, "intact");
  // One of two is back: the cut still stands for what is missing, and says that something was not looked at.
  renameSync(pathOf(archive, 1), pathOf(folder, 1));
  const left = await verify(folder, { operators: [keys.operator, stranger.operator] });
  assert.deepEqual([left.verdict, left.begins.segment, codesOf(left).includes("cut_left")], ["intact", 3, true]);
  // Both are back: the log proves itself, and the cut is held to it whoever signed it.
  renameSync(pathOf(archive, 2), pathOf(folder, 2));
  assert.equal((await verify(folder)).verdict, "intact");
  const { cut } = await verify(twin, { cutAt: 3 });
  assert.ok(cut !== null);
  writeFileSync(join(folder, "cut.gwcut"), signCut(cut, keys.approver));
  assert.equal((await verify(folder)).firstBreach?.code, "cut_mismatch");
  writeFileSync(join(folder, "cut.gwcut"), "x".repeat(100_000));
  assert.equal((await verify(folder)).firstBreach?.code, "cut_malformed");
});

test("a cut of another history, or one with nothing behind it, does not open the log", async () => {
  const { folder } = await cutBefore(3);
  const { cut } = await verify(twin, { cutAt: 3 });
  assert.ok(cut !== null);
  const [path, text] = [join(folder, "cut.gwcut"), readFileSync(join(folder, "cut.gwcut"), "utf8")];
  writeFileSync(path, signCut(cut, keys.approver));
  assert.equal((await verify(folder)).verdict, "not_intact");
  writeFileSync(path, text);
  unlinkSync(pathOf(folder, 3));
  assert.equal((await verify(folder)).firstBreach?.code, "segment_missing");
});

test("what was seen before the cut is told as moved away, what was seen at it or after it is held to the log", async () => {
  const { folder, cut } = await cutBefore(3);
  assert.ok(cut.sealed !== null);
  const { head } = await verify(large);
  assert.ok(head !== null);
  const early = { frame: unnamedIn(cut), link: "0".repeat(64) };
  const known = await verify(folder, { heads: [head, early] });
  assert.deepEqual([known.verdict, known.heads], ["intact", [{ frame: head.frame, held: true }]]);
  assert.deepEqual(
    known.notices.filter(({ code }) => code === "head_archived").map(({ frame }) => frame),
    [early.frame],
  );
  const openLink = dissect(pathOf(folder, 3)).pieces[0]?.link.toString("hex");
  const atCut = await verify(folder, { heads: [{ frame: cut.nextFrame, link: openLink }] });
  assert.deepEqual([atCut.heads[0]?.held, codesOf(atCut).includes("head_archived")], [true, false]);
  const first = { frame: cut.nextFrame, link: "0".repeat(64) };
  assert.equal((await verify(folder, { heads: [first] })).firstBreach?.code, "head_mismatch");
  const past = { frame: head.frame + 1, link: head.link };
  assert.equal((await verify(folder, { heads: [past] })).firstBreach?.code, "head_behind");

  const tree = growTree({ size: cut.seals, peaks: cut.peaks.map((peak) => Buffer.from(peak, "hex")) });
  const { frame, link, timeSeconds } = cut.sealed;
  const at = { logId: cut.logId, seals: cut.seals, root: tree.root(), frame, link, timeSeconds };
  const by = (checkpoint: typeof at) => verify(folder, { checkpoint: signCheckpoint(checkpoint, keys.approver) });
  const there = await by(at);
  assert.deepEqual(
    [there.verdict, there.checkpoint?.held, codesOf(there).includes("checkpoint_archived")],
    ["intact", true, false],
  );
  for (const other of [{ root: Buffer.alloc(32) }, { frame: frame + 1 }, { link: "0".repeat(64) }])
    assert.equal((await by({ ...at, ...other })).firstBreach?.code, "checkpoint_mismatch", Object.keys(other).join());
  const moved = await by({ ...at, seals: cut.seals - 1, frame: early.frame });
  assert.deepEqual(
    [moved.verdict, moved.checkpoint?.held, codesOf(moved).includes("checkpoint_archived")],
    ["intact", false, true],
  );
});

test("gw audit verify holds what was seen of a part that was moved away to what its cut still tells of it", async () => {
  const { folder, cut } = await cutBefore(3);
  assert.ok(cut.sealed !== null && cut.open !== null && cut.attestable[0] !== undefined);
  const file = join(freshFolder(), "checkpoint");
  const run = async (extra: object) => {
    const said: string[] = [];
    const io = { out: (line: string) => void said.push(line), err: assert.fail } as unknown as CliIo;
    const asked = { log: folder, operator: [keys.operator.toString("hex")], json: true, ...extra };
    const exit = await runAuditVerify(asked, io);
    const report = JSON.parse(said.join("")) as VerifyReport;
    return [exit, report.firstBreach?.code, report.firstBreach?.frame, codesOf(report).includes("head_archived")];
  };
  const [attestable, link] = [...cut.attestable].sort(([a], [b]) => a - b)[0] ?? [0, ""];
  const last = { frame: cut.nextFrame - 1, link: cut.link };
  for (const head of [last, cut.sealed, cut.open, { frame: attestable, link }]) {
    assert.deepEqual(await run({ rememberedHead: head }), [0, undefined, undefined, false], `${head.frame}`);
    const other = { ...head, link: "0".repeat(64) };
    assert.deepEqual(await run({ rememberedHead: other }), [1, "head_mismatch", head.frame, false], `${head.frame}`);
  }
  // The same with two who saw the same head: neither is taken for one that the log does not reach.
  const twice = await verify(folder, { heads: [last, last] });
  assert.deepEqual([twice.verdict, twice.heads.map(({ held }) => held)], ["intact", [true, true]]);
  const { head } = await verify(large);
  assert.ok(head !== null);
  const both = await verify(folder, { heads: [head, head] });
  assert.deepEqual([both.verdict, both.heads.map(({ held }) => held)], ["intact", [true, true]]);

  const by = async (extra: object) => {
    const at = { ...{ logId: cut.logId, seals: cut.seals - 1, root: Buffer.alloc(32, 1) }, timeSeconds: 1_750_000_000 };
    writeFileSync(file, signCheckpoint({ ...at, ...last, ...extra }, keys.approver));
    return (await run({ checkpoint: file })).slice(0, 2);
  };
  assert.deepEqual(await by({ frame: unnamedIn(cut) }), [0, undefined]);
  // Fewer seals than the cut counts, and later than its last: the cut, or the checkpoint, is of another history.
  assert.deepEqual(await by({ frame: cut.sealed.frame, link: cut.sealed.link }), [1, "checkpoint_mismatch"]);
  assert.deepEqual(await by({ frame: cut.nextFrame + 1 }), [1, "checkpoint_mismatch"]);
  assert.deepEqual(await by({ frame: attestable, link: "0".repeat(64) }), [1, "checkpoint_mismatch"]);
  assert.deepEqual(await by({ seals: 0, frame: 0 }), [1, "checkpoint_malformed"], "no seal is nothing to go by");
});

test("what was checked before is not looked at again, unless something below it is missing", async () => {
  const folder = copyFolder(large);
  const { cut } = await verify(folder, { cutAt: "newest" });
  assert.equal(cut?.segment, 4);
  const again = await verify(folder, { from: cut });
  assert.deepEqual([again.verdict, again.segments, again.begins.segment], ["intact", 1, 4]);
  assert.equal(again.root, (await verify(large)).root);
  const changed = readFileSync(pathOf(folder, 1));
  changed[100] = (changed[100] ?? 0) ^ 1;
  writeFileSync(pathOf(folder, 1), changed);
  assert.equal(
    (await verify(folder, { from: cut })).verdict,
    "intact",
    "which is why it is looked at whole now and then",
  );
  assert.equal((await verify(folder)).verdict, "not_intact");
  unlinkSync(pathOf(folder, 2));
  assert.equal((await verify(folder, { from: cut })).verdict, "not_intact");
  const other = (await verify(twin, { cutAt: "newest" })).cut;
  assert.equal((await verify(large, { from: other })).verdict, "not_intact");
});

test("a report of a whole log has each process's part to its end, and a clean one leaves nothing open", async () => {
  const { eras, head, largestUnsealed, sealed } = await verify(large);
  assert.deepEqual(
    eras.map(({ firstSegment, lastSegment, reason }) => [firstSegment, lastSegment, reason]),
    [
      [1, 2, "genesis"],
      [3, 3, "boot"],
      [4, 4, "crash"],
    ],
  );
  for (const [index, era] of eras.entries())
    assert.equal(era.lastFrame, (eras[index + 1]?.firstFrame ?? (head?.frame ?? 0) + 1) - 1);
  assert.ok(sealed !== null && largestUnsealed > 1 && largestUnsealed < sealed.frame, String(largestUnsealed));
  assert.deepEqual(codesOf(await verify(small)), []);
});

test("re-chained: a segment that begins with another frame than its OPEN is found as that", async () => {
  const folder = copyFolder(large);
  edit(folder, 4, ({ pieces }) => void pieces.splice(indexOf(pieces, OPEN, 0), 1));
  rechain(folder);
  assert.equal((await verify(folder)).firstBreach?.code, "frame_misplaced");
});

test("re-chained: whatever stands behind the seal that ends a segment is misplaced", async () => {
  for (const [segment, type] of [
    ...[1, 2, 4].map((turnedOrStopped) => [turnedOrStopped, SEAL] as const),
    ...[DATA, ATTEST].map((other) => [4, other] as const),
  ]) {
    const folder = copyFolder(large);
    edit(folder, segment, ({ pieces }) => {
      const again = pieces[indexOf(pieces, type, 0)];
      assert.ok(again);
      pieces.push({ ...again });
    });
    rechain(folder);
    const { firstBreach } = await assertFound(folder, "frame_misplaced");
    assert.equal(firstBreach?.segment, segment);
  }
});

test("re-chained: a turned segment sealed anew with keys of one's own is found where it begins, a first one that says it follows another too", async () => {
  const forged = copyFolder(large);
  const forger = makeKeys();
  for (const later of [3, 4]) unlinkSync(pathOf(forged, later));
  edit(forged, 2, ({ linkBefore, pieces }) => {
    pieces[indexOf(pieces, DATA, 0)]?.body.fill(7);
    const logId = pieces[0]?.body.subarray(0, 16) ?? Buffer.alloc(0);
    let link = linkBefore;
    for (const { body, ...header } of pieces) {
      const bytes = Buffer.alloc(16);
      writeHeader(bytes, 0, { ...header, bodyLength: body.length } as FrameHeader);
      if (header.type === OPEN) forger.operator.copy(body, 76);
      if (header.type === SEAL) {
        // A clean stop announces no key.
        if (header.flags === 0) forger.operator.copy(body, 16);
        signBytes(forger.approver, sealMessage(logId, link, bytes, body.subarray(0, 48))).copy(body, 48);
      }
      link = linkOf(Buffer.concat([link, bytes, body]));
    }
  });
  rechain(forged);
  const { firstBreach } = await assertFound(forged, "open_seal_key");
  assert.deepEqual([firstBreach?.segment, firstBreach?.offset], [2, 40]);

  const [REASON, PREVIOUS, TORN] = [24, 108, 116];
  for (const [at, value] of [
    [REASON, OPEN_REASONS.boot],
    [PREVIOUS, 1],
    [TORN, 1],
  ] as const) {
    const folder = copyFolder(large);
    edit(folder, 1, ({ pieces }) => void pieces[0]?.body.writeUInt8(value, at));
    rechain(folder);
    await assertFound(folder, "segment_not_first");
  }
});

test("a torn end that nobody declared is a breach, unless the cut that is asked for declares it", async () => {
  const folder = copyFolder(large);
  unlinkSync(pathOf(folder, 4));
  assert.equal((await verify(folder)).firstBreach?.code, "tail_undeclared");
  const declared = await verify(folder, { cutAt: 4 });
  assert.deepEqual([declared.verdict, declared.cut?.segment, (declared.cut?.tailLength ?? 0) > 0], ["intact", 4, true]);
});

test("a changed frame in the segment that a live writer is at is found: only an end may be in motion", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, seed: "live" });
  await attest(log, keys);
  for (let id = 0; id < 4; id++) await log.append([intentEvent(id)]);
  const options = { folder, operators: [keys.operator] };
  const untouched = await verifyLog(options);
  assert.deepEqual([untouched.verdict, codesOf(untouched).includes("writer_live")], ["intact", true]);
  const bytes = readFileSync(pathOf(folder, 1));
  const at = bytes.indexOf(dissect(pathOf(folder, 1)).pieces.find(({ type }) => type === DATA)?.body ?? "");
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(pathOf(folder, 1), bytes);
  assert.equal((await verifyLog(options)).firstBreach?.code, "frame_link");
  await log.close();
});

test("the attacks ran on logs whose segments this test can take apart", () => {
  assert.equal(segmentFiles(large).length, 4);
});
