import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import type { LogFiles } from "../files.ts";
import { openLog } from "../log.ts";
import { nodeLogFiles } from "../node-files.ts";
import { type LogItem, type LogReader, openReader } from "./reader.ts";

const reading = generateKeyPairSync("x25519");
const FRAMES = 12_800;
/** The largest record whose frame is padded to 2 KiB: a segment of many frames, and quickly made. */
const TEXT = "x".repeat(1_700);
const MIB = 1_048_576;

/** What is looked at is reading: nothing of it has to be on the disk. */
function unflushed(folder: string): LogFiles {
  const files = nodeLogFiles(folder);
  const create: LogFiles["create"] = (name) => ({
    ...files.create(name),
    sync: () => Promise.resolve(),
    syncInline: () => undefined,
  });
  return { ...files, create };
}

const only = availableParallelism() > 1 ? {} : { skip: "a thread is of no use on one processor" };

describe("a segment of many short frames", only, () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-ahead-"));
  const segment = join(folder, "0000000001.gwlog");
  let threads: Worker[] = [];
  const note = (worker: Worker): void => void threads.push(worker);

  before(async () => {
    const log = await openLog({
      folder,
      files: unflushed(folder),
      recipients: [reading.publicKey],
      vaultGeneration: 1,
      vaultHash: Buffer.alloc(32),
      clock: { wallMs: () => 1_750_000_000_000 },
      random: { bytes: (length) => randomBytes(length) },
    });
    for (let index = 0; index < FRAMES; index++) {
      await log.append([
        {
          event_id: `evt_${index}`,
          event_type: "call_denied",
          occurred_at: "2026-01-01T00:00:00.000Z",
          run_id: "run_1",
          code: "not_found",
          action: "acme.report.create",
          caller: TEXT,
        },
      ]);
    }
    await log.close();
    process.on("worker", note);
  });
  after(() => {
    process.off("worker", note);
    rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    threads = [];
  });

  async function itemsOf(reader: LogReader): Promise<readonly LogItem[]> {
    const items: LogItem[] = [];
    for await (const item of reader) items.push(item);
    reader.close();
    return items;
  }
  const ahead = () => itemsOf(openReader(folder, reading.privateKey));
  /** Whoever wants some frames only has no thread, and opens here all that it wants. */
  const alone = () => itemsOf(openReader(folder, reading.privateKey, undefined, () => true));

  test("is opened on a thread of its own, which gives what is found without one, in its order", async () => {
    const found = await ahead();
    assert.equal(threads.length, 1);
    assert.equal(found.filter(({ kind }) => kind === "record").length, FRAMES);
    assert.deepEqual(found, await alone());
    assert.equal(threads.length, 1, "no thread for some frames only");
  });

  test("is read to its end without the thread, where somebody ended that", async () => {
    const end = (worker: Worker): void => void worker.terminate();
    process.on("worker", end);
    try {
      assert.deepEqual(await ahead(), await alone());
      assert.equal(threads.length, 1);
    } finally {
      process.off("worker", end);
    }
  });

  test("gives its thread back when nobody reads on", async () => {
    const reader = openReader(folder, reading.privateKey);
    while ((reader.at()?.offset ?? 0) < 10 * MIB) reader.next();
    await turn();
    const [thread] = threads;
    assert.ok(thread !== undefined);
    const over = once(thread, "exit");
    reader.close();
    await over;
  });

  test("ends where a frame was changed, as it does without a thread", async () => {
    const fd = openSync(segment, "r+");
    writeSync(fd, Buffer.from([0xa5, 0x5a]), 0, 2, 14 * MIB);
    closeSync(fd);
    const found = await ahead();
    assert.equal(threads.length, 1);
    assert.deepEqual(found, await alone());
    assert.ok(found.length > FRAMES / 2 && found.length < FRAMES);
  });
});
