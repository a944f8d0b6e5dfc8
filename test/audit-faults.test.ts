import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { after, test } from "node:test";
import type { LogFile, LogFiles } from "../src/audit/files.ts";
import { nodeLogFiles } from "../src/audit/node-files.ts";
import { verifyLog } from "../src/audit/verify/verify.ts";
import {
  attest,
  copyFolder,
  finishedEvent,
  freshFolder,
  handScheduler,
  intentEvent,
  type Keys,
  makeKeys,
  openTestLog,
  removeFolders,
} from "./audit-kit.ts";
import { sampleOf } from "./support/whole.ts";

/** A disk that fails at one chosen step, half-way through where the step can be half done. */
const keys: Keys = makeKeys();
after(removeFolders);

interface FaultyFiles extends LogFiles {
  /** Steps so far. */
  readonly steps: () => number;
  readonly names: readonly string[];
}

function faultyFiles(folder: string, failAt: number, code: string): FaultyFiles {
  const real = nodeLogFiles(folder);
  const names: string[] = [];
  const step = (name: string, half?: () => void): void => {
    names.push(name);
    if (names.length - 1 !== failAt) return;
    half?.();
    throw Object.assign(new Error(`${code}: injected at ${name}`), { code });
  };
  const wrap = (file: LogFile): LogFile => ({
    write(bytes, position) {
      step("write", () => file.write(bytes.subarray(0, bytes.length >> 1), position));
      file.write(bytes, position);
    },
    syncInline() {
      step("sync");
      file.syncInline();
    },
    async sync() {
      step("sync-pool");
      await file.sync();
    },
    truncate(length) {
      step("truncate");
      file.truncate(length);
    },
    close: () => file.close(),
  });
  return {
    steps: () => names.length,
    names,
    prepare() {
      step("prepare");
      real.prepare();
    },
    list: real.list,
    create(name) {
      step("create");
      return wrap(real.create(name));
    },
    openToRead: real.openToRead,
    rename(from, to) {
      step("rename");
      real.rename(from, to);
    },
    remove: real.remove,
    syncFolder() {
      step("sync-folder");
      real.syncFolder();
    },
  };
}

/** The life of a log, with every kind of step; says which events were acknowledged. */
async function live(folder: string, files: LogFiles, slowDisk: boolean): Promise<{ acked: string[]; failed: boolean }> {
  const acked: string[] = [];
  const scheduler = handScheduler(() => (slowDisk ? 10 : 0));
  try {
    const log = await openTestLog(folder, { keys, files, scheduler });
    let failed = false;
    const tryTo = async (work: () => Promise<unknown>): Promise<void> => {
      try {
        await work();
        assert.ok(!failed, "nothing succeeds after the log has failed");
      } catch (error) {
        assert.equal((error as { code?: string }).code, "log_failed");
        assert.equal(log.failure()?.code, "log_failed");
        failed = true;
      }
    };
    const append = (id: string): Promise<void> =>
      tryTo(async () => {
        const receipt = await log.append([intentEvent(id)]);
        assert.ok(receipt.eventIds.includes(`evt_intent_${id}`));
        acked.push(`evt_intent_${id}`);
      });
    await append("a");
    await tryTo(() => attest(log, keys));
    await Promise.all([append("b"), append("c")]);
    await tryTo(() => log.rotate());
    for (let id = 0; id < 10; id++) await append(`d${id}`);
    await tryTo(() => log.seal());
    await log.close().catch((error: { code?: string }) => {
      assert.equal(error.code, "log_failed");
      failed = true;
    });
    return { acked, failed };
  } catch (error) {
    assert.equal((error as { code?: string }).code, "log_failed", String(error));
    return { acked, failed: true };
  }
}

for (const slowDisk of [false, true]) {
  for (const code of ["ENOSPC", "EIO"]) {
    test(`${code} at every step of a ${slowDisk ? "slow" : "fast"} disk stops the log and loses nothing acknowledged`, async () => {
      const whole = freshFolder();
      const counting = faultyFiles(whole, -1, code);
      assert.equal((await live(whole, counting, slowDisk)).failed, false);
      assert.ok(counting.names.includes(slowDisk ? "sync-pool" : "sync"));
      assert.ok(counting.steps() > 40);
      const steps = Array.from({ length: counting.steps() }, (_, step) => step);
      for (const failAt of sampleOf(`${code} of a ${slowDisk ? "slow" : "fast"} disk`, steps, 10)) {
        const folder = freshFolder();
        const files = faultyFiles(folder, failAt, code);
        const { acked, failed } = await live(folder, files, slowDisk);
        const name = counting.names[failAt];
        // A file that could not be opened ahead is opened when it is needed.
        const ahead = name === "create" && failAt > counting.names.indexOf("create");
        assert.ok(failed || ahead, `a failing ${name} (step ${failAt}) is noticed`);
        await assertRecovers(folder, acked, `${name} at step ${failAt}`);
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
}

/** After the next start the log verifies, and every acknowledged event can be read. */
async function assertRecovers(folder: string, acked: readonly string[], where: string): Promise<void> {
  const { openReader } = await import("../src/audit/read/reader.ts");
  const log = await openTestLog(folder, { keys, seed: "after" });
  await attest(log, keys);
  await log.close();
  const report = await verifyLog({ folder, operators: [keys.operator], allowUnattested: true });
  assert.equal(report.exit, 0, `${where}: ${report.firstBreach?.code} in ${report.firstBreach?.file}`);
  const seen = new Set<string>();
  for await (const item of openReader(folder, keys.readingKey)) {
    if (item.kind === "record") seen.add(item.event.event_id);
    assert.notEqual(item.kind, "unreadable", where);
  }
  for (const id of acked) assert.ok(seen.has(id), `${where}: ${id} was acknowledged and is gone`);
}

test("a failed flush is never tried again, and nothing is written after it", async () => {
  const folder = freshFolder();
  const probe = faultyFiles(folder, -1, "EIO");
  const log = await openTestLog(folder, { keys, files: probe });
  await log.close();
  const opened = probe.steps();

  const again = freshFolder();
  // The step after everything an open does, its seal and the write of the first record: that record's flush.
  const beforeClose = probe.names.slice(0, opened).lastIndexOf("write");
  const files = faultyFiles(again, beforeClose + 1, "EIO");
  const failing = await openTestLog(again, { keys, files });
  await assert.rejects(failing.append([intentEvent(1)]), { code: "log_failed" });
  const bytes = readFileSync(`${again}/0000000001.gwlog`);
  const steps = files.steps();
  await assert.rejects(failing.append([finishedEvent(1)]), { code: "log_failed" });
  await assert.rejects(failing.seal(), { code: "log_failed" });
  await assert.rejects(failing.rotate(), { code: "log_failed" });
  assert.equal(files.steps(), steps, "no step was taken after the failure");
  await failing.close();
  assert.deepEqual(readFileSync(`${again}/0000000001.gwlog`), bytes, "closing does not touch the file either");
});

test("the failure is told once, when it happens", async () => {
  const folder = freshFolder();
  const { openLog } = await import("../src/audit/log.ts");
  const told: string[] = [];
  const real = nodeLogFiles(folder);
  let broken = false;
  const log = await openLog({
    folder,
    recipients: [keys.recipient],
    vaultGeneration: 1,
    vaultHash: Buffer.alloc(32),
    clock: { wallMs: () => 0 },
    random: { bytes: (length) => Buffer.alloc(length, 3) },
    scheduler: handScheduler(),
    onFailure: ({ code }) => told.push(code),
    files: {
      ...real,
      create(name) {
        const file = real.create(name);
        return {
          ...file,
          write(bytes, position) {
            if (broken) throw new Error("gone");
            file.write(bytes, position);
          },
        };
      },
    },
  });
  broken = true;
  const results = await Promise.allSettled([1, 2, 3].map((id) => log.append([intentEvent(id)])));
  assert.ok(results.every(({ status }) => status === "rejected"));
  assert.deepEqual(told, ["log_failed"]);
  await log.close();
});

test("more waiting than the bound is refused with log_backlogged, and what was taken is written", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys, limits: { queueBytes: 4_096 } });
  const appends = Array.from({ length: 100 }, (_, id) => log.append([intentEvent(id)]));
  assert.equal(log.hasRoom(), false);
  const results = await Promise.allSettled(appends);
  assert.equal(log.hasRoom(), true);
  const refused = results.filter((result) => result.status === "rejected");
  assert.ok(refused.length > 50 && refused.length < 100);
  for (const result of refused) assert.equal(result.reason.code, "log_backlogged");
  await log.append([intentEvent("later")]);
  await log.close();
  assert.equal((await verifyLog({ folder, allowUnattested: true })).exit, 0);
});

test("an event over the limit is refused whole and leaves the log in order", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  const huge = intentEvent("huge", { path: "x".repeat(70_000) });
  await assert.rejects(log.append([intentEvent(1), huge]), { code: "log_event_too_large" });
  await log.append([intentEvent(2)]);
  await log.close();
  const { openReader } = await import("../src/audit/read/reader.ts");
  const events: string[] = [];
  for await (const item of openReader(folder, keys.readingKey)) {
    if (item.kind === "record") events.push(`${item.event.event_id} ${item.event.sequence}`);
  }
  assert.deepEqual(events, ["evt_intent_2 1"]);
});

test("a second writer is refused while the first lives", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await assert.rejects(openTestLog(folder, { keys }), { code: "log_in_use" });
  const live = await verifyLog({ folder, allowUnattested: true });
  assert.ok(live.notices.some(({ code }) => code === "writer_live"));
  await log.close();
  const second = await openTestLog(folder, { keys });
  assert.equal(second.opened.reason, "boot");
  await second.close();
});

test("a torn tail is exit 1 until declared, unless a writer holds the lock", async () => {
  const folder = freshFolder();
  const log = await openTestLog(folder, { keys });
  await attest(log, keys);
  await log.append([intentEvent(1)]);
  const torn = copyFolder(folder);
  const { truncateSync, readFileSync: read } = await import("node:fs");
  const path = `${torn}/0000000001.gwlog`;
  const written = read(path);
  let end = written.length;
  while (written[end - 1] === 0) end--;
  truncateSync(path, end - 10);
  await log.close();
  const dead = await verifyLog({ folder: torn });
  assert.equal(dead.firstBreach?.code, "tail_undeclared");
  const { takeWriterLock } = await import("../src/audit/lock.ts");
  const lock = takeWriterLock(torn);
  try {
    assert.equal((await verifyLog({ folder: torn })).exit, 0);
  } finally {
    lock.release();
  }
  const next = await openTestLog(torn, { keys, seed: "next" });
  assert.equal(next.opened.reason, "crash");
  assert.ok(next.opened.tornBytes > 0);
  await attest(next, keys);
  await next.close();
  assert.equal((await verifyLog({ folder: torn })).exit, 0);
});
