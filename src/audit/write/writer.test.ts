import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../kernel/testing/any-text.ts";
import type { AuditLog } from "../audit-log.ts";
import type { NewEvent } from "../event.ts";
import type { LogFile, LogFiles } from "../files.ts";
import { openLog } from "../log.ts";
import { nodeLogFiles } from "../node-files.ts";
import { openReader } from "../read/reader.ts";
import { verifyLog } from "../verify/verify.ts";

const reading = generateKeyPairSync("x25519");

function event(id: string, text = ""): NewEvent {
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

/** Real files that note each step, and a flush in the pool that ends when it is let go. */
function watchedFiles(folder: string) {
  const real = nodeLogFiles(folder);
  const steps: string[] = [];
  let held: (() => void)[] = [];
  let holding = false;
  const files: LogFiles = {
    ...real,
    create(name): LogFile {
      const file = real.create(name);
      return {
        ...file,
        write(bytes, position) {
          steps.push("write");
          file.write(bytes, position);
        },
        syncInline() {
          file.syncInline();
          steps.push("durable");
        },
        async sync() {
          if (holding) await new Promise<void>((resolve) => held.push(resolve));
          await file.sync();
          steps.push("durable");
        },
      };
    },
  };
  return {
    files,
    steps,
    hold() {
      holding = true;
    },
    letGo() {
      holding = false;
      for (const go of held) go();
      held = [];
    },
  };
}

async function withLog(
  inlineFlushMs: number,
  use: (log: AuditLog, watched: ReturnType<typeof watchedFiles>, folder: string) => Promise<void>,
  limits: { readonly segmentBytes?: number; readonly frameBytes?: number } = {},
  company?: () => number,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const watched = watchedFiles(folder);
  try {
    const log = await openLog({
      folder,
      recipients: [reading.publicKey],
      vaultGeneration: 1,
      vaultHash: Buffer.alloc(32),
      clock: { wallMs: () => 1_750_000_000_000 },
      random: { bytes: (length) => randomBytes(length) },
      files: watched.files,
      limits: { inlineFlushMs, spaceBytes: 4_096, ...limits },
      ...(company === undefined ? {} : { company }),
    });
    try {
      await use(log, watched, folder);
    } finally {
      watched.letGo();
      await log.close();
    }
    const report = await verifyLog({ folder, allowUnattested: true });
    assert.equal(report.exit, 0, report.firstBreach?.code);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

for (const [mode, inlineFlushMs] of [
  ["inline", Number.POSITIVE_INFINITY],
  ["in the thread pool", 0],
] as const) {
  test(`flushed ${mode}, an append is acknowledged after its flush and not before`, () =>
    withLog(inlineFlushMs, async (log, { steps }) => {
      for (let index = 0; index < 5; index++) {
        steps.length = 0;
        await log.append([event(`e${index}`)]);
        assert.equal(steps.at(-1), "durable");
        assert.ok(steps.includes("write"));
      }
    }));

  test(`flushed ${mode}, any pattern of appends is on disk in order and whole, whatever segments and frames it needs`, () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.array(anyText({ maxLength: 30 }), { minLength: 1, maxLength: 3 })), {
          maxLength: 6,
        }),
        fc.constantFrom(2_000, 8_000, 1_000_000),
        async (turns, segmentBytes) => {
          const appended: string[] = [];
          await withLog(
            inlineFlushMs,
            async (log, _, folder) => {
              for (const [turn, appends] of turns.entries()) {
                const waiting = appends.map((texts, index) => {
                  const events = texts.map((text, part) => event(`${turn}.${index}.${part}`, text));
                  appended.push(...events.map(({ event_id }) => event_id));
                  return log.append(events).then((receipt) => {
                    for (const { event_id } of events) assert.ok(receipt.eventIds.includes(event_id));
                  });
                });
                await Promise.all(waiting);
                assert.deepEqual(await idsIn(folder), appended);
              }
            },
            { segmentBytes, frameBytes: 2_048 },
          );
        },
      ),
      { numRuns: 8 },
    ));
}

async function idsIn(folder: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const item of openReader(folder, reading.privateKey)) {
    assert.notEqual(item.kind, "unreadable");
    if (item.kind === "record") ids.push(item.event.event_id);
  }
  return ids;
}

test("while the disk is busy with a frame the next appends share one, and nobody is answered early", () =>
  withLog(0, async (log, watched) => {
    await log.append([event("warm")]);
    const before = log.head().frame;
    watched.hold();
    const answered: string[] = [];
    const append = (id: string): Promise<number> =>
      log.append([event(id)]).then(({ frame }) => {
        answered.push(id);
        return frame;
      });
    const first = append("a");
    await turns(3);
    const rest = ["b", "c", "d"].map(append);
    await turns(3);
    assert.deepEqual(answered, []);
    assert.equal(log.head().frame, before, "a head that is told is durable");
    watched.letGo();
    const frames = await Promise.all([first, ...rest]);
    assert.equal(new Set(frames.slice(1)).size, 1);
    assert.notEqual(frames[0], frames[1]);
    assert.deepEqual(answered, ["a", "b", "c", "d"]);
  }));

test("closing waits for what was appended before it, and refuses what comes after", () =>
  withLog(0, async (log, watched) => {
    watched.hold();
    const appended = log.append([event("before")]);
    await turns(2);
    const closing = log.close();
    await assert.rejects(log.append([event("after")]), { code: "log_failed" });
    watched.letGo();
    assert.ok((await appended).eventIds.includes("before"));
    await closing;
  }));

test("a change of the event after the append does not change the record", () =>
  withLog(Number.POSITIVE_INFINITY, async (log, _, folder) => {
    const changing = { ...event("e"), code: "not_found" };
    const appended = log.append([changing as NewEvent]);
    changing.code = "changed";
    await appended;
    for await (const item of openReader(folder, reading.privateKey)) {
      if (item.kind === "record") assert.equal("code" in item.event && item.event.code, "not_found");
    }
  }));

async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index++) await new Promise((resolve) => setImmediate(resolve));
}

const INLINE = Number.POSITIVE_INFINITY;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("an append with nobody else under way is on disk before anything else happens", () => {
  let underWay = 0;
  return withLog(
    INLINE,
    async (log, { steps }) => {
      underWay = 1;
      steps.length = 0;
      const appended = log.append([event("alone")]);
      assert.equal(steps.at(-1), "durable");
      await appended;
      underWay = 0;
    },
    {},
    () => underWay,
  );
});

test("a flush waits for most of those who are under way, and for no more than a few turns", () => {
  let underWay = 0;
  return withLog(
    INLINE,
    async (log, { steps }) => {
      underWay = 10;
      steps.length = 0;
      const first = log.append([event("first")]);
      await turn();
      await turn();
      assert.deepEqual(steps, [], "nobody came yet");
      const others = [2, 3, 4, 5, 6].map((index) => log.append([event(`of ${index}`)]));
      const receipts = await Promise.all([first, ...others]);
      assert.equal(new Set(receipts.map(({ frame }) => frame)).size, 1, "they share one frame");
      await log.append([event("and nobody else came")]);
      assert.equal(steps.at(-1), "durable");
      underWay = 0;
    },
    {},
    () => underWay,
  );
});
