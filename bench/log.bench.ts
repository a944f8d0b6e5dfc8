import { execFileSync } from "node:child_process";
import { createCipheriv, createDecipheriv, createSecretKey, hash, randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { AuditLog } from "../src/audit/audit-log.ts";
import { scanOnThreads } from "../src/audit/verify/scan-threads.ts";
import { verifyLog } from "../src/audit/verify/verify.ts";
import { type Bench, median, type Row } from "./bench.ts";
import { benchEvent, openBenchLog, readyEvent, writeBenchLog } from "./log-events.ts";

const ROUNDS = 5;
const ROUND_MS = 250;
const MANY = 1_000_000;
const FEW = 10_000;
/** One event a frame: a key, a cipher and a tag for each of them. */
const SINGLE = 200_000;
const PARSED = 20_000;
/** What a frame of one event is opened from: padded to this, after a header and a link. */
const FRAME_BYTES = 1_024;
const AROUND_BYTES = 48;
/** The bound of memory that bin/gw starts a reader with. */
const AS_GW = "--max-semi-space-size=4";

/** The log beside what a reasonable engineer would have taken instead: SQLite for writing, a file hash for checking. */
export const bench: Bench = {
  name: "log",
  async run(emit) {
    const folder = mkdtempSync(join(tmpdir(), "gw-bench-log-"));
    try {
      await benchAppend(folder, emit);
      await benchVerify(folder, emit);
      await benchGrowth(folder, emit);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Both sides get the same events as objects and write them as JSON; a round is a rate and the CPU time of an event. */
interface Round {
  readonly rate: number;
  readonly cpuMicros: number;
}

async function benchAppend(folder: string, emit: (row: Row) => void): Promise<void> {
  const log = await openBenchLog(join(folder, "append"), true);
  const database = openSqlite(join(folder, "peer.db"));
  for (const writers of [1, 16, 64, 256]) {
    const ours: Round[] = [];
    const single: Round[] = [];
    const grouped: Round[] = [];
    // Interleaved, so that a slow moment of the machine falls on all of them.
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(await measure(() => append(log, writers)));
      single.push(await measure(() => database.insert(1)));
      if (writers > 1) grouped.push(await measure(() => database.insert(writers)));
    }
    emitAppends(writers, ours, single, "SQLite WAL FULL, commit each", emit);
    if (writers > 1) emitAppends(writers, ours, grouped, `SQLite WAL FULL, ${writers} a commit`, emit);
    const peer = writers === 1 ? single : grouped;
    const value = median(ours.map(({ cpuMicros }) => cpuMicros));
    emit({
      case: `CPU time of that, ${writers} waiting`,
      value,
      unit: "µs/event",
      beside: writers === 1 ? "SQLite WAL FULL, commit each" : `SQLite WAL FULL, ${writers} a commit`,
      ratio: value / median(peer.map(({ cpuMicros }) => cpuMicros)),
    });
  }
  await log.close();
  database.close();
}

function emitAppends(
  writers: number,
  ours: readonly Round[],
  theirs: readonly Round[],
  beside: string,
  emit: (row: Row) => void,
): void {
  const value = median(ours.map(({ rate }) => rate));
  const ratio = value / median(theirs.map(({ rate }) => rate));
  emit({ case: `durable appends, ${writers} waiting`, value, unit: "events/s", beside, ratio });
}

async function measure(work: () => number | Promise<number>): Promise<Round> {
  const cpu = process.cpuUsage();
  const started = performance.now();
  const done = await work();
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return { rate: done / seconds, cpuMicros: (user + system) / done };
}

/** Each writer waits for its event to be durable before it appends the next. One of them looks at the time. */
async function append(log: AuditLog, writers: number): Promise<number> {
  let done = 0;
  let over = false;
  const end = performance.now() + ROUND_MS;
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      while (!over) {
        await log.append([readyEvent(done)]);
        done++;
        if (writer === 0) over = performance.now() >= end;
      }
    }),
  );
  return done;
}

function openSqlite(path: string) {
  const database = new DatabaseSync(path);
  database.exec(
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE event (id INTEGER PRIMARY KEY, body TEXT)",
  );
  const insert = database.prepare("INSERT INTO event (body) VALUES (?)");
  let index = 0;
  return {
    insert(perCommit: number): number {
      let done = 0;
      for (const end = performance.now() + ROUND_MS; performance.now() < end; done += perCommit) {
        if (perCommit === 1) insert.run(JSON.stringify(readyEvent(index++)));
        else {
          database.exec("BEGIN");
          for (let many = 0; many < perCommit; many++) insert.run(JSON.stringify(readyEvent(index++)));
          database.exec("COMMIT");
        }
      }
      return done;
    },
    close: () => database.close(),
  };
}

async function benchVerify(folder: string, emit: (row: Row) => void): Promise<void> {
  for (const perFrame of [1, 16]) {
    const log = join(folder, `verify-${perFrame}`);
    mkdirSync(log);
    // Enough segments for the threads that look ahead.
    await writeBenchLog(log, perFrame === 1 ? 480_000 : 160_000, perFrame);
    const files = readdirSync(log)
      .filter((name) => name.endsWith(".gwlog"))
      .map((name) => join(log, name));
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0);
    const ours: number[] = [];
    const sha256sum: number[] = [];
    const openssl: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      ours.push(bytes / 1e6 / (await secondsOf(() => verify(log))));
      sha256sum.push(bytes / 1e6 / (await secondsOf(() => execFileSync("sha256sum", files))));
      openssl.push(bytes / 1e6 / (await secondsOf(() => execFileSync("openssl", ["dgst", "-sha256", ...files]))));
    }
    const value = median(ours);
    const name = `verify, ${perFrame} event${perFrame === 1 ? "" : "s"} a frame`;
    emit({ case: name, value, unit: "MB/s", beside: "sha256sum of the same files", ratio: value / median(sha256sum) });
    emit({ case: name, value, unit: "MB/s", beside: "openssl dgst of the same files", ratio: value / median(openssl) });
    rmSync(log, { recursive: true });
  }
}

async function benchGrowth(folder: string, emit: (row: Row) => void): Promise<void> {
  const few = join(folder, "few");
  const many = join(folder, "many");
  const fewWrite = median([await timeWrite(`${few}-1`), await timeWrite(`${few}-2`), await timeWrite(few)]);
  const manyWrite = (await secondsOf(() => writeBenchLog(makeFolder(many), MANY, 64))) / MANY;
  const cost = { unit: "µs/event", beside: `the same at ${FEW.toLocaleString("en-US")} events` };
  const growth = `${MANY.toLocaleString("en-US")} events`;
  emit({ case: `append without flush, ${growth}`, value: manyWrite * 1e6, ...cost, ratio: manyWrite / fewWrite });
  await verify(few);
  const fewVerify =
    median([
      await secondsOf(() => verify(few)),
      await secondsOf(() => verify(few)),
      await secondsOf(() => verify(few)),
    ]) / FEW;
  const manyVerify = (await secondsOf(() => verify(many))) / MANY;
  emit({ case: `verify, ${growth}`, value: manyVerify * 1e6, ...cost, ratio: manyVerify / fewVerify });
  const read = readJournals(many);
  emitFold(`fold of both journals, 64 a frame, ${growth}`, read, 400_000, emit);
  const newest = { value: read.newestSeconds, unit: "s", beside: "aim: at most 1 s", ratio: read.newestSeconds };
  emit({ case: `newest rows of gw activity, ${growth}`, ...newest });
  const peak = read.peakBytes / 1_048_576;
  emit({ case: "peak memory of that", value: peak, unit: "MiB", beside: "aim: at most 200 MiB", ratio: peak / 200 });
  const single = join(folder, "single");
  await writeBenchLog(makeFolder(single), SINGLE, 1);
  const folded = readJournals(single);
  emitFold("fold of both journals, 1 a frame", folded, 100_000, emit);
  const value = folded.events / folded.cpuSeconds;
  const beside = "node:crypto opening such frames alone";
  emit({ case: "fold of both journals, 1 a frame", value, unit: "events/s", beside, ratio: value / openRate() });
}

/** In processor time: a fold waits for nothing. Beside what parsing the same records takes, which no reader is spared. */
function emitFold(name: string, read: ReturnType<typeof readJournals>, aim: number, emit: (row: Row) => void): void {
  const value = read.events / read.cpuSeconds;
  const parsing = parseRate();
  emit({
    case: name,
    value,
    unit: "events/s",
    beside: `aim: ${aim.toLocaleString("en-US")} events/s`,
    ratio: value / aim,
  });
  emit({ case: name, value, unit: "events/s", beside: "JSON.parse of the records alone", ratio: value / parsing });
}

function parseRate(): number {
  const texts = Array.from({ length: PARSED }, (_, index) => JSON.stringify(benchEvent(index)));
  const rounds = Array.from({ length: ROUNDS }, () => {
    const cpu = process.cpuUsage();
    for (const text of texts) JSON.parse(text);
    const { user, system } = process.cpuUsage(cpu);
    return PARSED / ((user + system) / 1e6);
  });
  return median(rounds);
}

/** The next key of a segment and one AEAD open with it, as the format asks for each frame. */
function openRate(): number {
  const nonce = Buffer.alloc(12);
  const chain = randomBytes(AROUND_BYTES);
  const around = randomBytes(AROUND_BYTES);
  const key = createSecretKey(randomBytes(32));
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(around);
  const sealed = Buffer.concat([cipher.update(Buffer.alloc(FRAME_BYTES)), cipher.final()]);
  const tag = cipher.getAuthTag();
  const rounds = Array.from({ length: ROUNDS }, () => {
    const cpu = process.cpuUsage();
    for (let frame = 0; frame < PARSED; frame++) {
      createSecretKey(hash("sha512", chain, "buffer").subarray(32));
      const decipher = createDecipheriv("aes-256-gcm", key, nonce, { authTagLength: 16 });
      decipher.setAAD(around);
      decipher.setAuthTag(tag);
      decipher.update(sealed);
      decipher.final();
    }
    const { user, system } = process.cpuUsage(cpu);
    return PARSED / ((user + system) / 1e6);
  });
  return median(rounds);
}

async function timeWrite(folder: string): Promise<number> {
  return (await secondsOf(() => writeBenchLog(makeFolder(folder), FEW, 64))) / FEW;
}

function makeFolder(folder: string): string {
  mkdirSync(folder);
  return folder;
}

function readJournals(folder: string): {
  readonly events: number;
  readonly cpuSeconds: number;
  readonly newestSeconds: number;
  readonly peakBytes: number;
} {
  const program = join(import.meta.dirname, "log-read.ts");
  const output = execFileSync(process.execPath, [AS_GW, program, folder], { encoding: "utf8" });
  return JSON.parse(output) as ReturnType<typeof readJournals>;
}

async function verify(folder: string): Promise<void> {
  const report = await verifyLog({ folder, allowUnattested: true, scanAhead: scanOnThreads });
  if (report.exit !== 0) throw new Error(`the bench log does not verify: ${report.firstBreach?.code}`);
}

async function secondsOf(work: () => unknown): Promise<number> {
  const started = performance.now();
  await work();
  return (performance.now() - started) / 1000;
}
