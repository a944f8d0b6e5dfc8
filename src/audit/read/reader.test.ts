import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createCipheriv, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../kernel/testing/any-text.ts";
import type { NewEvent } from "../event.ts";
import { decodeOpen } from "../frame/bodies.ts";
import { FRAME_TYPES, GENESIS_LINK, MAGIC } from "../frame/layout.ts";
import { paddedLength } from "../frame/padding.ts";
import { type ReadAll, traceOf } from "../journals/trace.ts";
import { startFrameKeys } from "../keys/seed.ts";
import { openLog } from "../log.ts";
import { startBuilder } from "../write/frame-builder.ts";
import { type LogItem, openReader } from "./reader.ts";
import { rewrapSeeds } from "./rewrap.ts";
import { findSeed } from "./seeds.ts";

const reading = generateKeyPairSync("x25519");

async function inFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function openIn(folder: string) {
  return openLog({
    folder,
    recipients: [reading.publicKey],
    vaultGeneration: 1,
    vaultHash: Buffer.alloc(32),
    clock: { wallMs: () => 1_750_000_000_000 },
    random: { bytes: (length) => randomBytes(length) },
    limits: { spaceBytes: 4_096 },
  });
}

function event(id: string, text: string): NewEvent {
  return {
    event_id: id,
    event_type: "call_denied",
    occurred_at: "2026-01-01T00:00:00.000Z",
    run_id: "run_1",
    code: "not_found",
    action: "acme.report.create",
    caller: text,
  };
}

/** The last frame again, by the same keys, with another plaintext: what a writer with a fault could have left. */
function replaceLastData(folder: string, plaintext: Buffer): void {
  const path = join(folder, "0000000001.gwlog");
  const bytes = readFileSync(path);
  const builder = startBuilder(GENESIS_LINK, 0);
  const frames: Buffer[] = [];
  let keys: ReturnType<typeof startFrameKeys> | undefined;
  for (let at = 40; at + 48 <= bytes.length && bytes[at + 4] !== 0; ) {
    const length = bytes.readUInt32LE(at);
    const body = bytes.subarray(at + 16, at + 16 + length);
    const type = bytes.readUInt8(at + 4) as 1 | 2 | 3 | 4;
    if (type === FRAME_TYPES.open) {
      const open = decodeOpen(body);
      const seed = open === undefined ? undefined : findSeed(folder, open, reading.privateKey);
      assert.ok(seed);
      keys = startFrameKeys(seed);
    }
    if (type === FRAME_TYPES.data && keys !== undefined) {
      const padded = Buffer.alloc(paddedLength(plaintext.length));
      plaintext.copy(padded);
      builder.begin(type, 0, padded.length + 16);
      const cipher = createCipheriv("aes-256-gcm", keys.next(), Buffer.alloc(12));
      cipher.setAAD(builder.additional);
      builder.add(cipher.update(padded));
      cipher.final();
      builder.add(cipher.getAuthTag());
      frames.push(Buffer.from(builder.end()));
      break;
    }
    frames.push(Buffer.from(builder.build(type, bytes.readUInt8(at + 5), body)));
    at += 48 + length;
  }
  writeFileSync(path, Buffer.concat([MAGIC, GENESIS_LINK, ...frames]));
}

function itemsIn(folder: string): LogItem[] {
  const reader = openReader(folder, reading.privateKey);
  const items: LogItem[] = [];
  for (let next = reader.next(); next !== undefined; next = reader.next()) items.push(...next);
  reader.close();
  return items.filter(({ kind }) => kind !== "opened");
}

/** `count ‖ {length, record}…`, with lengths that may lie. */
function plaintextOf(records: readonly { readonly text: string; readonly length?: number }[], count = records.length) {
  const parts: Buffer[] = [Buffer.alloc(4)];
  parts[0]?.writeUInt32LE(count, 0);
  for (const { text, length } of records) {
    const bytes = Buffer.from(text, "utf8");
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32LE(length ?? bytes.length, 0);
    parts.push(prefix, bytes);
  }
  return Buffer.concat(parts);
}

const record = (id: string, caller: string, sequence = 1): string => JSON.stringify({ sequence, ...event(id, caller) });

test("texts of every kind come back as they went in, alone in a frame or beside others", () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.array(fc.oneof(fc.string({ maxLength: 50 }), anyText({ maxLength: 50 })), {
          minLength: 1,
          maxLength: 6,
        }),
        { maxLength: 5 },
      ),
      (frames) =>
        inFolder(async (folder) => {
          const log = await openIn(folder);
          for (const [frame, texts] of frames.entries()) {
            await log.append(texts.map((text, index) => event(`${frame}.${index}`, text)));
          }
          await log.close();
          const seen = itemsIn(folder).map((item) =>
            item.kind === "record" && "caller" in item.event
              ? [item.event.event_id, item.index, item.event.caller]
              : item,
          );
          const expected = frames.flatMap((texts, frame) =>
            texts.map((text, index) => [`${frame}.${index}`, index, text]),
          );
          assert.deepEqual(seen, expected);
        }),
    ),
    { numRuns: 12 },
  ));

async function readBack(plaintext: Buffer): Promise<LogItem[]> {
  return inFolder(async (folder) => {
    const log = await openIn(folder);
    await log.append([event("replaced", "")]);
    await log.close();
    replaceLastData(folder, plaintext);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith(".gwlog")),
      ["0000000001.gwlog"],
    );
    return itemsIn(folder);
  });
}

test("a record that runs out of its frame is told, after the ones that do not", async () => {
  for (const [name, first] of [
    ["plain", "x"],
    ["beyond ASCII", "käse 🧀"],
  ] as const) {
    const items = await readBack(
      plaintextOf([{ text: record("a", first) }, { text: record("b", "y"), length: 9_999 }]),
    );
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ["record", "unreadable"],
      name,
    );
    assert.ok(items[0]?.kind === "record" && "caller" in items[0].event && items[0].event.caller === first);
  }
});

test("a frame that claims more records than it holds ends in one that cannot be read", async () => {
  const items = await readBack(plaintextOf([{ text: record("a", "x") }], 2_000_000));
  // What follows the record is padding: records of no length, which are no JSON, and at last the end of the frame.
  assert.equal(items[0]?.kind, "record");
  assert.ok(items.slice(1).every(({ kind }) => kind === "unreadable"));
  assert.ok(items.length < 512);
});

test("two records in the place of one, or one in the place of two, are malformed and not believed", async () => {
  const both = `${record("a", "x")},${record("b", "y")}`;
  const kinds = async (texts: readonly string[]): Promise<string[]> =>
    (await readBack(plaintextOf(texts.map((text) => ({ text }))))).map(({ kind }) => kind);
  assert.deepEqual(await kinds([both]), ["unreadable"]);
  const half = (both.length >> 1) - 9;
  assert.deepEqual(await kinds([both.slice(0, half), both.slice(half)]), ["unreadable", "unreadable"]);
  assert.deepEqual(await kinds([record("a", "x"), record("b", "y")]), ["record", "record"]);
});

test("an event of a later version is shown as one, beside those that are known", async () => {
  const later = '{"sequence":2,"event_id":"e","event_type":"not_yet","occurred_at":"t","more":1}';
  const items = await readBack(plaintextOf([{ text: record("a", "x") }, { text: later }]));
  assert.deepEqual(
    items.map((item) => [item.kind, "index" in item ? item.index : -1]),
    [
      ["record", 0],
      ["newer", 1],
    ],
  );
});

test("no plaintext makes the reader throw or go on for ever", () =>
  fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 4, maxLength: 300 }), async (bytes) => {
      const items = await readBack(Buffer.from(bytes));
      assert.ok(items.length <= 512);
    }),
    { numRuns: 10 },
  ));

test("what belongs to one call is found by opening the log once, and after that its own frames alone", () =>
  inFolder(async (folder) => {
    const log = await openIn(folder);
    const of = (call: string, id: string): NewEvent => ({ ...event(id, "x"), call_id: call }) as NewEvent;
    // The name that leads to it comes after it: what was read before is not read again for that.
    await log.append([{ ...event("evt_0", "x"), attempt_id: "evt_a" } as NewEvent]);
    for (let other = 0; other < 8; other++) await log.append([of(`call_other${other}`, `evt_other${other}`)]);
    await log.append([{ ...of("call_1", "evt_1"), attempt_id: "evt_a" } as NewEvent]);
    await log.append([of("call_1", "evt_2")]);
    await log.close();
    const opened: number[] = [];
    const readAll: ReadAll = (each, wanted) => {
      const reader = openReader(folder, reading.privateKey, undefined, wanted);
      let records = 0;
      for (let next = reader.next(); next !== undefined; next = reader.next())
        for (const item of next) {
          if (item.kind === "record") records++;
          each(item);
        }
      reader.close();
      opened.push(records);
    };
    assert.deepEqual(
      traceOf(readAll, "call_1").events.map(({ event_id }) => event_id),
      ["evt_0", "evt_1", "evt_2"],
    );
    assert.deepEqual(opened, [11, 3]);
  }));

test("a segment that is not there, or goes while others are read, is told, and what follows it is read", () =>
  inFolder(async (folder) => {
    const log = await openIn(folder);
    for (const one of [1, 2, 3, 4, 5]) {
      await log.append([event(`evt_${one}`, "x")]);
      if (one < 5) await log.rotate();
    }
    await log.close();
    const gone = (segment: number): void => rmSync(join(folder, `000000000${segment}.gwlog`));
    const told = (item: LogItem): string | number => (item.kind === "record" ? item.event.event_id : item.segment);
    gone(4);
    const reader = openReader(folder, reading.privateKey);
    const seen: LogItem[] = [];
    const [first] = reader.next() ?? [];
    assert.equal(first?.kind, "opened");
    // An archive moves away what is read, and what comes next.
    for (const segment of [1, 2]) gone(segment);
    for (let items = reader.next(); items !== undefined; items = reader.next()) {
      seen.push(...items.filter(({ kind }) => kind !== "opened"));
    }
    assert.deepEqual(seen.map(told), ["evt_1", 2, "evt_3", 4, "evt_5"]);
    assert.equal(reader.next(), undefined, "it is told once");
    reader.close();
    // What begins where nothing is any more goes on with what there is.
    const from = openReader(folder, reading.privateKey, { segment: 2, offset: 0 });
    assert.deepEqual(from.next()?.map(told), [2]);
    from.close();
  }));

test("a pipe or a link in the place of a side file is no seed, and holds nobody up", () =>
  inFolder(async (folder) => {
    const log = await openIn(folder);
    await log.append([event("evt_1", "x")]);
    await log.close();
    const later = generateKeyPairSync("x25519");
    rewrapSeeds(folder, reading.privateKey, later.publicKey, { bytes: (length) => randomBytes(length) });
    const kinds = () => {
      const reader = openReader(folder, later.privateKey);
      const items: LogItem[] = [];
      for (let next = reader.next(); next !== undefined; next = reader.next()) items.push(...next);
      reader.close();
      return items.map(({ kind }) => kind);
    };
    assert.deepEqual(kinds(), ["opened", "record"]);
    const [name = ""] = readdirSync(folder).filter((one) => one.endsWith(".seed"));
    const path = join(folder, name);
    renameSync(path, `${path}.real`);
    symlinkSync(`${path}.real`, path);
    assert.deepEqual(kinds().slice(0, 2), ["opened", "unreadable"]);
    rmSync(path);
    execFileSync("mkfifo", [path]);
    assert.deepEqual(kinds().slice(0, 2), ["opened", "unreadable"]);
  }));
