import assert from "node:assert/strict";
import { createCipheriv, createHash, type createPublicKey, generateKeyPairSync, hash } from "node:crypto";
import fs, { readFileSync, statSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { type AttestationOffer, signAttestation } from "../src/audit/attestation.ts";
import { decodeAttest, decodeOpen, decodeSeal, encodeOpen, type OpenBody } from "../src/audit/frame/bodies.ts";
import { paddedLength } from "../src/audit/frame/padding.ts";
import { type LogItem, openReader } from "../src/audit/read/reader.ts";
import { rewrapSeeds } from "../src/audit/read/rewrap.ts";
import { findSeed } from "../src/audit/read/seeds.ts";
import { leadsTo } from "../src/audit/verify/leads-to.ts";
import { scanSegment } from "../src/audit/verify/scan.ts";
import { type ToScan, verifyLog } from "../src/audit/verify/verify.ts";
import { signOffer } from "../src/surfaces/cli/operator/session.ts";
import type { OpenOperator } from "../src/vault/operator.ts";
import {
  assemble,
  attest,
  copyFolder,
  dissect,
  finishedEvent,
  freshFolder,
  handScheduler,
  intentEvent,
  makeKeys,
  openTestLog,
  rechain,
  removeFolders,
  seededRandom,
  segmentFiles,
} from "./audit-kit.ts";

const keys = makeKeys();
const SEAL = 3;
after(removeFolders);

async function readAll(folder: string, key = keys.readingKey): Promise<LogItem[]> {
  const reader = openReader(folder, key);
  const items: LogItem[] = [];
  for await (const item of reader) items.push(item);
  reader.close();
  return items;
}

function framesOf(folder: string, segment: number) {
  return dissect(join(folder, `000000000${segment}.gwlog`)).pieces;
}

test("callers of one turn share a frame and a flush; each receipt names its events", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  const receipts = await Promise.all([1, 2, 3].map((id) => log.append([intentEvent(id), finishedEvent(id)])));
  assert.equal(new Set(receipts.map(({ frame }) => frame)).size, 1);
  for (const id of [1, 2, 3]) assert.ok(receipts[0]?.eventIds.includes(`evt_intent_${id}`));
  const later = await log.append([intentEvent(4)]);
  assert.equal(later.frame, (receipts[0]?.frame ?? 0) + 1);
  assert.equal(log.head().frame, later.frame);
  await log.close();
  const records = (await readAll(folder)).filter((item) => item.kind === "record");
  assert.deepEqual(
    records.map(({ frame, index }) => `${frame}.${index}`),
    [0, 1, 2, 3, 4, 5].map((index) => `${later.frame - 1}.${index}`).concat(`${later.frame}.0`),
  );
});

test("each journal counts its own sequence from one, in each process anew", async () => {
  const folder = freshFolder();
  for (const round of [1, 2]) {
    const log = await openTestLog(folder, { keys, seed: `${round}` });
    await log.append([
      intentEvent(round),
      {
        event_id: "evt_s",
        event_type: "run_ended",
        occurred_at: "2026-01-01T00:00:00.000Z",
        run_id: "run_1",
        reason: "done",
      },
      finishedEvent(round),
    ]);
    await log.close();
  }
  const sequences = (await readAll(folder)).flatMap((item) => (item.kind === "record" ? [item.event.sequence] : []));
  assert.deepEqual(sequences, [1, 1, 2, 1, 1, 2]);
});

test("the number of records and their sizes are hidden by padding", async () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200_000 }), (length) => {
      const padded = paddedLength(length);
      assert.ok(padded >= length);
      assert.ok(padded <= 4096 ? [512, 1024, 2048, 4096].includes(padded) : padded % 4096 === 0);
      assert.equal(paddedLength(padded), padded);
    }),
  );
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent(1)]);
  await log.append([intentEvent(2), intentEvent(3), intentEvent(4)]);
  await log.close();
  const sizes = framesOf(folder, 1).flatMap(({ type, body }) => (type === 2 ? [body.length - 16] : []));
  assert.deepEqual(sizes, [1024, 2048]);
});

test("nothing of an event stands in clear on the disk", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent("visible")]);
  await log.close();
  const bytes = readFileSync(join(folder, "0000000001.gwlog"));
  for (const text of ["visible", "intent_accepted", "run_1", "acme"]) assert.ok(!bytes.includes(text), text);
});

test("a seal follows shortly after the log falls idle, then a heartbeat", async () => {
  const folder = freshFolder();
  const scheduler = handScheduler();
  const log = await openTestLog(folder, { keys, scheduler });
  const seals = (): number => framesOf(folder, 1).filter(({ type }) => type === SEAL).length;
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  assert.equal(seals(), 1, "the OPEN is sealed before anything else");
  await log.append([intentEvent(1)]);
  assert.equal(seals(), 1);
  scheduler.advance(100);
  await settle();
  assert.equal(seals(), 2);
  scheduler.advance(200_000);
  await settle();
  assert.equal(seals(), 2, "nothing to seal, and the heartbeat is not due");
  scheduler.advance(100_000);
  await settle();
  assert.equal(seals(), 3, "the heartbeat");
  await log.close();
});

test("a log that is never idle is sealed at least once a second", async () => {
  const folder = freshFolder();
  const scheduler = handScheduler();
  const log = await openTestLog(folder, { keys, scheduler });
  for (let tick = 0; tick < 30; tick++) {
    await log.append([intentEvent(tick)]);
    scheduler.advance(100);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  }
  await log.close();
  const pieces = framesOf(folder, 1);
  const gaps: number[] = [];
  let since = 0;
  for (const { type } of pieces.slice(2)) {
    if (type === SEAL) {
      gaps.push(since);
      since = 0;
    } else since++;
  }
  assert.ok(Math.max(...gaps) <= 10, `${gaps}`);
});

test("seals are not starved by a queue that never empties", async () => {
  const folder = freshFolder();
  const scheduler = handScheduler(() => 1);
  const log = await openTestLog(folder, { keys, scheduler });
  let running = true;
  const writers = [1, 2, 3].map(async (writer) => {
    for (let count = 0; running; count++) await log.append([intentEvent(`${writer}-${count}`)]);
  });
  const sealed = await log.seal();
  running = false;
  await Promise.all(writers);
  assert.ok(sealed.frame > 0);
  await log.close();
  assert.equal((await verifyLog({ folder, allowUnattested: true })).exit, 0);
});

test("seal keys are one-shot: each seal announces the next, and none signs twice", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  for (let id = 0; id < 4; id++) {
    await log.append([intentEvent(id)]);
    await log.seal();
  }
  await log.rotate();
  await log.close();
  const open = decodeOpen(framesOf(folder, 1)[0]?.body ?? Buffer.alloc(0));
  const announced = [open?.firstSealKey.toString("hex")];
  for (const segment of [1, 2]) {
    for (const { type, body } of framesOf(folder, segment)) {
      if (type === SEAL) announced.push(decodeSeal(body)?.nextKey.toString("hex"));
    }
  }
  assert.equal(announced.at(-1), "00".repeat(32), "the clean stop announces nobody");
  assert.equal(new Set(announced).size, announced.length);
  const rotated = decodeOpen(framesOf(folder, 2)[0]?.body ?? Buffer.alloc(0));
  assert.ok(announced.includes(rotated?.firstSealKey.toString("hex")), "a rotation goes on with the same chain");
});

test("a full segment is turned, and its spare space given back", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, limits: { segmentBytes: 8_000, spaceBytes: 65_536 } });
  for (let id = 0; id < 20; id++) await log.append([intentEvent(id)]);
  const size = statSync(join(folder, "0000000001.gwlog")).size;
  assert.ok(size < 12_000, `${size}`);
  await log.close();
  const report = await verifyLog({ folder, allowUnattested: true });
  assert.equal(report.exit, 0);
  assert.ok(report.segments >= 2);
  assert.equal((await readAll(folder)).filter(({ kind }) => kind === "record").length, 20);
});

test("a recipient added by rotation reads from then on; a removed one reads no more", async () => {
  const folder = freshFolder();
  const auditor = makeKeys();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent("old")]);
  await log.rotate({ recipients: [keys.recipient, auditor.recipient] });
  await log.append([intentEvent("both")]);
  await log.rotate({ recipients: [auditor.recipient] });
  await log.append([intentEvent("new")]);
  await log.close();
  const ids = async (key = keys.readingKey): Promise<string[]> =>
    (await readAll(folder, key)).flatMap((item) => (item.kind === "record" ? [item.event.event_id] : []));
  assert.deepEqual(await ids(), ["evt_intent_old", "evt_intent_both"]);
  assert.deepEqual(await ids(auditor.readingKey), ["evt_intent_both", "evt_intent_new"]);
  const before = readFileSync(join(folder, "0000000001.gwlog"));
  assert.deepEqual(rewrapSeeds(folder, keys.readingKey, auditor.recipient, seededRandom("x")), [1]);
  assert.deepEqual(await ids(auditor.readingKey), ["evt_intent_old", "evt_intent_both", "evt_intent_new"]);
  const stranger = makeKeys();
  assert.throws(() => rewrapSeeds(folder, keys.readingKey, stranger.recipient, seededRandom("y")), {
    code: "log_unreadable",
  });
  assert.deepEqual(readFileSync(join(folder, "0000000001.gwlog")), before, "segments are never rewritten");
});

test("rewrapped seeds let a later reader in, and one that does not match the commitment opens nothing", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent(1)]);
  await log.close();
  const later = makeKeys();
  assert.deepEqual(rewrapSeeds(folder, keys.readingKey, later.recipient, seededRandom("rewrap")), [1]);
  assert.equal((await readAll(folder, later.readingKey)).filter(({ kind }) => kind === "record").length, 1);
  assert.deepEqual(rewrapSeeds(folder, keys.readingKey, keys.recipient, seededRandom("again")), []);
  const name = `0000000001.gwlog.${hash("sha256", rawOf(later.recipient), "hex").slice(0, 32)}.seed`;
  const bytes = readFileSync(join(folder, name));
  for (let at = 0; at < bytes.length; at += 7) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    writeFileSync(join(folder, name), changed);
    const items = await readAll(folder, later.readingKey);
    const harmless = at >= 8 && at < 80;
    if (!harmless)
      assert.ok(
        items.every(({ kind }) => kind !== "record"),
        `byte ${at}`,
      );
  }
  const strange = bytes.subarray(0, 100);
  writeFileSync(join(folder, name), strange);
  const report = await verifyLog({ folder, allowUnattested: true });
  assert.equal(report.exit, 0, "side files are no part of the chain");
  assert.ok(report.notices.some(({ code }) => code === "side_file_mismatch"));
  writeFileSync(join(folder, name), bytes);
  const whole = await verifyLog({ folder, allowUnattested: true });
  assert.ok(whole.notices.every(({ code }) => code !== "side_file_mismatch"));
});

test("a frame changed without the key does not open, and is said to be unreadable", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  for (let id = 0; id < 4; id++) await log.append([intentEvent(id)]);
  await log.close();
  const path = join(folder, "0000000001.gwlog");
  const parts = dissect(path);
  parts.pieces[3]?.body.fill(1, 0, 4);
  assemble(path, parts);
  rechain(folder);
  const items = await readAll(folder);
  assert.ok(items.some(({ kind }) => kind === "unreadable"));
  assert.equal(items.filter(({ kind }) => kind === "record").length, 1, "what follows hangs on the link before it");
});

test("an attestation that is taken is known to whoever begins with any segment, however late it comes", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  const sign = (offer: AttestationOffer): Buffer => signAttestation(offer, "ada", keys.approver, 1_750_000_001);
  const headOf = ({ headFrame, headLink }: AttestationOffer) => ({ frame: headFrame, link: headLink.toString("hex") });
  const taken: number[] = [];
  for (const seals of [0, 1, 29, 30, 31, 32, 40]) {
    const offer = await log.offerAttestation();
    for (let seal = 0; seal < seals; seal++) await log.seal();
    assert.ok(log.isAttestable(headOf(offer)), "within one segment none of these is too old");
    await log.rotate();
    if (log.isAttestable(headOf(offer))) taken.push(seals);
    const attesting = log.attest(sign(offer));
    if (taken.includes(seals)) await attesting;
    else await assert.rejects(attesting, { code: "log_attestation_refused" });
  }
  assert.deepEqual(taken, [0, 1, 29, 30]);
  await log.attest(sign(await log.offerAttestation()));
  const last = segmentFiles(folder).length;
  await log.close();
  for (let segment = 2; segment <= last; segment++) {
    const { cut } = await verifyLog({ folder, cutAt: segment });
    assert.ok(cut !== null);
    const later = await verifyLog({ folder, from: cut });
    assert.deepEqual([later.begins.segment, later.exit, later.firstBreach], [segment, 0, null], `segment ${segment}`);
  }
});

test("an offer that became too old on a slow way to the log is signed for anew", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent(1)]);
  let slow = 1;
  const clock = { wallMs: () => 1_750_000_001_000 };
  const refresh = async (): Promise<void> => {
    if (slow-- <= 0) return;
    for (let seal = 0; seal < 40; seal++) await log.seal();
    await log.rotate();
  };
  const operator = { name: "ada", approver: { key: keys.approver } } as OpenOperator;
  const looked = await verifyLog({ folder, allowUnattested: true });
  const head = await signOffer(folder, looked, { operator }, log, { clock, refresh });
  await log.close();
  const { cut, attestations } = await verifyLog({ folder, cutAt: "newest" });
  assert.deepEqual(
    attestations.map(({ headFrame }) => headFrame),
    [head.frame],
  );
  assert.equal((await verifyLog({ folder, from: cut })).exit, 0);
});

test("an attestation about another process, another head or by a broken signature is refused", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, seed: "one" });
  const offer = await log.offerAttestation();
  const sign = (change: object): Buffer => signAttestation({ ...offer, ...change }, "ada", keys.approver, 1);
  for (const change of [
    { openFrame: 9 },
    { openLink: Buffer.alloc(32) },
    { headFrame: 0 },
    { headLink: Buffer.alloc(32) },
    { beforeLink: Buffer.alloc(32, 1) },
    { unclean: true },
    { logId: Buffer.alloc(16) },
  ]) {
    await assert.rejects(log.attest(sign(change)), { code: "log_attestation_refused" }, JSON.stringify(change));
  }
  const broken = sign({});
  broken.writeUInt8(broken.readUInt8(broken.length - 1) ^ 1, broken.length - 1);
  await assert.rejects(log.attest(broken), { code: "log_attestation_refused" });
  await assert.rejects(log.attest(Buffer.alloc(0)), { code: "log_attestation_refused" });
  assert.equal(log.failure(), null, "a refused statement does not stop the log");
  await log.attest(sign({}));
  await log.close();
  const attested = framesOf(folder, 1).find(({ type }) => type === 4);
  assert.equal(decodeAttest(attested?.body ?? Buffer.alloc(0))?.operator, "ada");

  const next = await openTestLog(folder, { keys, seed: "two" });
  await assert.rejects(next.attest(sign({})), { code: "log_attestation_refused" }, "a statement of before the restart");
  await next.close();
});

test("a log leads from a head to what was written after it, over its segments, and to nothing else", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, seed: "one" });
  await log.append([intentEvent(1)]);
  const from = await log.seal();
  const twin = copyFolder(folder);
  await log.append([intentEvent(2)]);
  const within = await log.seal();
  await log.rotate();
  await log.append([intentEvent(3)]);
  const to = await log.seal();
  for (const head of [from, within, to]) assert.equal(leadsTo(folder, from, head), true, JSON.stringify(head));
  const other = await openTestLog(twin, { keys, seed: "two" });
  const elsewhere = await other.seal();
  assert.equal(leadsTo(twin, from, elsewhere), true);
  const wrong: readonly (readonly [typeof from, typeof from])[] = [
    [from, elsewhere],
    [from, { ...to, frame: to.frame + 1 }],
    [from, { ...to, frame: from.frame - 1 }],
    [{ ...from, link: to.link }, to],
    [{ ...from, frame: from.frame + 1 }, to],
    [{ ...from, segment: 2 }, to],
    [{ ...from, segment: 9 }, to],
  ];
  for (const [one, head] of wrong) assert.equal(leadsTo(folder, one, head), false, JSON.stringify([one, head]));
  const path = join(folder, "0000000001.gwlog");
  const bytes = readFileSync(path);
  const parts = dissect(path);
  const changed = parts.pieces.find(({ frame }) => frame === from.frame + 1);
  changed?.body.writeUInt8((changed?.body.readUInt8(0) ?? 0) ^ 1, 0);
  assemble(path, parts);
  assert.equal(leadsTo(folder, from, to), false);
  writeFileSync(path, bytes);
  await Promise.all([log.close(), other.close()]);
});

test("a DATA frame with the reserved section verifies like any other, and its records are read", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await log.append([intentEvent("redo")]);
  await log.close();
  const path = join(folder, "0000000001.gwlog");
  const parts = dissect(path);
  const open = decodeOpen(parts.pieces[0]?.body ?? Buffer.alloc(0));
  const piece = parts.pieces[2];
  assert.ok(open && piece);
  const seed = findSeed(folder, open, keys.readingKey);
  assert.ok(seed);
  const plaintext = Buffer.alloc(512);
  const record = Buffer.from(
    '{"sequence":1,"event_id":"e","event_type":"run_ended","occurred_at":"t","run_id":"r","reason":"x"}',
  );
  plaintext.writeUInt32LE(1, 0);
  plaintext.writeUInt32LE(record.length, 4);
  record.copy(plaintext, 8);
  const section = Buffer.from("sealed for the gateway itself");
  const length = Buffer.alloc(4);
  length.writeUInt32LE(section.length);
  const header = Buffer.alloc(16);
  header.writeUInt32LE(plaintext.length + 16 + section.length + 4, 0);
  header.writeUInt8(2, 4);
  header.writeUInt8(2, 5);
  header.writeBigUInt64LE(2n, 8);
  const key = hash("sha512", Buffer.concat([Buffer.from("gw-audit-v1 chain"), seed]), "buffer").subarray(32);
  const cipher = createCipheriv("aes-256-gcm", key, Buffer.alloc(12));
  cipher.setAAD(Buffer.concat([header, parts.pieces[1]?.link ?? Buffer.alloc(0)]));
  piece.flags = 2;
  piece.body = Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag(), section, length]);
  parts.pieces.splice(3);
  assemble(path, parts);
  rechain(folder);
  const report = await verifyLog({ folder, allowUnattested: true });
  assert.equal(report.exit, 0, report.firstBreach?.code);
  assert.deepEqual(
    (await readAll(folder)).flatMap((item) => (item.kind === "record" ? [item.event.event_id] : [])),
    ["e"],
  );
});

test("a reader follows a log that is being written, over a rotation", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  const reader = openReader(folder, keys.readingKey);
  const drain = (): string[] => {
    const ids: string[] = [];
    for (let items = reader.next(); items !== undefined; items = reader.next()) {
      for (const item of items) if (item.kind === "record") ids.push(item.event.event_id);
    }
    return ids;
  };
  assert.deepEqual(drain(), []);
  await log.append([intentEvent(1)]);
  assert.deepEqual(drain(), ["evt_intent_1"]);
  assert.deepEqual(drain(), []);
  await log.append([intentEvent(2)]);
  await log.rotate();
  await log.append([intentEvent(3)]);
  assert.deepEqual(drain(), ["evt_intent_2", "evt_intent_3"]);
  await log.close();
  reader.close();
});

test("verify of a log while it is written finds it intact", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, limits: { segmentBytes: 30_000 } });
  let running = true;
  const writing = (async () => {
    for (let id = 0; running; id++) await log.append([intentEvent(id)]);
  })();
  for (let round = 0; round < 10; round++) {
    const report = await verifyLog({ folder, allowUnattested: true });
    assert.equal(report.exit, 0, report.firstBreach?.code);
    await log.append([intentEvent("between")]);
  }
  running = false;
  await writing;
  await log.close();
});

test("a log cannot be opened without a reader, or with a key of another kind", async () => {
  const wrong = generateKeyPairSync("ed25519").publicKey;
  for (const recipients of [[], [wrong], [keys.readingKey], Array.from({ length: 17 }, () => keys.recipient)]) {
    await assert.rejects(openTestLog(freshFolder(), { keys, recipients }), { code: "log_recipients_invalid" });
  }
  const log = await openTestLog(freshFolder(), { keys });
  await assert.rejects(log.rotate({ recipients: [] }), { code: "log_recipients_invalid" });
  assert.equal(log.failure(), null);
  await log.append([intentEvent("still open")]);
  await log.close();
});

test("a log whose last segment was planted, emptied or renamed is not continued", async () => {
  const folder = freshFolder();
  for (const seed of ["a", "b"]) await (await openTestLog(folder, { keys, seed })).close();
  const other = freshFolder();
  for (const seed of ["c", "d"]) await (await openTestLog(other, { keys, seed })).close();
  const plant = (bytes: Buffer): string => {
    const copy = copyFolder(folder);
    writeFileSync(join(copy, "0000000002.gwlog"), bytes);
    return copy;
  };
  for (const bytes of [
    readFileSync(join(other, "0000000002.gwlog")),
    readFileSync(join(folder, "0000000001.gwlog")),
    Buffer.alloc(0),
    Buffer.alloc(4096),
  ]) {
    await assert.rejects(openTestLog(plant(bytes), { keys }), { code: "log_damaged" });
  }
});

test("the bodies of frames come back as they went in, and no bytes make a decoder throw", () => {
  const bytes = (length: number) =>
    fc.uint8Array({ minLength: length, maxLength: length }).map((value) => Buffer.from(value));
  const whole = fc.nat({ max: Number.MAX_SAFE_INTEGER });
  const recipient = fc.record({ keyId: bytes(16), encapsulated: bytes(32), sealed: bytes(48) });
  const open: fc.Arbitrary<OpenBody> = fc.record({
    logId: bytes(16),
    segment: whole,
    reason: fc.constantFrom("genesis", "rotate", "boot", "crash"),
    timeSeconds: whole,
    vaultGeneration: whole,
    vaultHash: bytes(32),
    firstSealKey: bytes(32),
    previousLength: whole,
    tornLength: whole,
    tornHash: bytes(32),
    commitment: bytes(32),
    recipients: fc.array(recipient, { maxLength: 4 }),
  });
  fc.assert(
    fc.property(open, (body) => {
      const decoded = decodeOpen(encodeOpen(body));
      assert.deepEqual(decoded, { ...body, recipients: body.recipients.map((recipient) => ({ ...recipient })) });
    }),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (noise) => {
      const buffer = Buffer.from(noise);
      decodeOpen(buffer);
      decodeSeal(buffer);
      decodeAttest(buffer);
    }),
  );
});

test("whatever is written and however it is spread over frames and segments, it verifies and reads back in order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constantFrom("seal", "rotate", "restart"), fc.integer({ min: 1, max: 5 })), {
        maxLength: 12,
      }),
      async (steps) => {
        const folder = freshFolder();
        let log = await openTestLog(folder, { keys });
        await attest(log, keys);
        const written: string[] = [];
        for (const [index, step] of steps.entries()) {
          if (step === "seal") await log.seal();
          else if (step === "rotate") await log.rotate();
          else if (step === "restart") {
            await log.close();
            log = await openTestLog(folder, { keys, seed: `${folder}${index}` });
            await attest(log, keys);
          } else {
            const events = Array.from({ length: step }, (_, at) => intentEvent(`${index}-${at}`));
            written.push(...events.map(({ event_id }) => event_id));
            await log.append(events);
          }
        }
        await log.close();
        const report = await verifyLog({ folder, operators: [keys.operator] });
        assert.equal(report.exit, 0, report.firstBreach?.code);
        const read = (await readAll(folder)).flatMap((item) => (item.kind === "record" ? [item.event.event_id] : []));
        assert.deepEqual(read, written);
      },
    ),
    { numRuns: 25 },
  );
});

function rawOf(key: Parameters<typeof createPublicKey>[0] & object): Buffer {
  const der = (key as ReturnType<typeof createPublicKey>).export({ format: "der", type: "spki" });
  return Buffer.from(der.subarray(12));
}

test("the kit's seeded bytes are not repeated", () => {
  const random = seededRandom("x");
  assert.notDeepEqual(random.bytes(32), random.bytes(32));
  assert.equal(createHash("sha256").digest("hex").length, 64);
});

test("a copy that another command brings up to date is intact, wherever in it the check stands at that moment", async (t) => {
  const [source, folder] = [freshFolder(), freshFolder()];
  const log = await openTestLog(source, { keys });
  const name = "0000000001.gwlog";
  const bytesNow = (): Buffer => readFileSync(join(source, name));
  for (let id = 0; id < 4; id++) await log.append([intentEvent(id)]);
  await log.seal();
  const before = bytesNow();
  for (let id = 4; id < 8; id++) await log.append([intentEvent(id)]);
  await log.seal();
  const after = bytesNow();
  await log.close();
  const written = before.findLastIndex((byte) => byte !== 0) + 1;
  const inFlight = Buffer.concat([after.subarray(0, written + 100), Buffer.alloc(after.length - written - 100)]);

  const path = join(folder, name);
  const really = fs.readSync;
  let left = 0;
  const grow = (...given: Parameters<typeof fs.readSync>): number => {
    if (left-- === 0) writeFileSync(path, after);
    return really(...given);
  };
  t.mock.method(fs, "readSync", grow as typeof fs.readSync);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const scanAhead = ([segment]: readonly ToScan[]) => ({
    take: async () => (segment === undefined ? null : scanSegment(segment.path)),
    close: () => undefined,
  });
  for (const [bytes, ahead] of [before, inFlight].flatMap((one) => [
    [one, {}] as const,
    [one, { scanAhead }] as const,
  ])) {
    let reads = 0;
    do {
      writeFileSync(path, bytes);
      left = reads;
      const report = await verifyLog({ folder, allowUnattested: true, ...ahead });
      // What is on its way for good was cut off.
      const expected = bytes === inFlight && left >= 0 ? "tail_undeclared" : undefined;
      assert.equal(report.firstBreach?.code, expected, `grown at read ${reads}`);
      reads++;
    } while (left < 0);
    assert.ok(reads > 2, `${reads} reads`);
  }
});
