import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { signCheckpoint } from "../../../audit/checkpoint/checkpoint.ts";
import { growTree } from "../../../audit/checkpoint/tree.ts";
import { CUT_NAME, type Cut, signCut } from "../../../audit/cut/cut.ts";
import { segmentName, segmentOf } from "../../../audit/frame/layout.ts";
import { readSegmentOpen } from "../../../audit/read/marks.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { replaceFile } from "../../../vault/files/atomic-write.ts";
import type { VaultHome } from "../../../vault/files/home.ts";
import { withLock } from "../../../vault/files/lock.ts";
import type { OpenOperator } from "../../../vault/operator.ts";
import { connectOperator } from "../../client/operator.ts";
import { readHomeConfig } from "../../place/find.ts";
import { invalidConfig, isMapping } from "../../place/read-config.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { leadsInto } from "../leads-into.ts";
import { Misused } from "../misused.ts";
import { type OperatorOptions, operatorDoor } from "../options.ts";
import { type ProgressBar, progressBar, spread } from "../progress-bar.ts";
import { seenOf } from "../vault/seen.ts";
import { say, withOperator } from "../vault/session.ts";
import { copyDurably, goesOn, syncFolder } from "./archive-folder.ts";
import { checkLog, cuttersOf } from "./check-log.ts";

export interface ArchiveOptions extends OperatorOptions {
  /** ISO 8601: what was closed before this goes. */
  readonly before?: string;
  readonly keepDays?: number;
  readonly keepMegabytes?: number;
}

/** The writer looks at two segments when it starts, so the last two always stay. */
const KEPT_SEGMENTS = 2;

/**
 * `gw audit archive DIR`: moves closed segments out, and signs for where the log now begins. Verified before, copied,
 * the copy verified, the log told, the cut in place, and only then is anything removed: a crash anywhere leaves a log that
 * verifies.
 */
export function runArchive(into: string, options: ArchiveOptions, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, async () => {
    deps.requireHome("audit archive");
    const folder = join(options.home, "audit");
    const target = resolve(into);
    if (leadsInto(target, folder))
      throw new Denied(
        "archive_refused",
        "An archive inside the log's own folder moves nothing away. Name a folder elsewhere.",
      );
    // Whether anything is due, before a secret is typed for it.
    const asked = await retentionOf(options);
    if (chooseCut(folder, asked, deps.clock.wallMs()) === null)
      return nothingDue(target, asked !== options, options, deps);
    return await withOperator(options, deps.io, deps.vault, async ({ home, operator }) => {
      // One at a time: a second would sign for segments that the first has taken away.
      const bar = progressBar(options.json ? null : (deps.io.status ?? null));
      const moved = (): Promise<Exit> => move(home, operator, folder, target, options, deps, bar).finally(bar.clear);
      return withLock(join(home.folder, "archive.lock"), moved, 0);
    });
  });
}

async function move(
  home: VaultHome,
  operator: OpenOperator,
  folder: string,
  target: string,
  options: ArchiveOptions,
  deps: CliDeps,
  bar: ProgressBar,
): Promise<Exit> {
  const vault = home.readVault();
  const asked = await retentionOf(options);
  const cutAt = chooseCut(folder, asked, deps.clock.wallMs());
  if (cutAt === null) return nothingDue(target, asked !== options, options, deps);
  const { head } = seenOf(deps.vault.stateFolder, vault);
  // The cut says who attested what it stands for: nobody but who is or was an operator, whatever name a stranger gave themselves.
  const known = { allowUnattested: true, cutAt, operators: cuttersOf(vault).map(({ key }) => key) };
  const going = bytesOf(folder, cutAt);
  const part = spread(bar, [bytesOf(folder), going, bytesOf(target) + going]);
  const heads = head === null ? {} : { heads: [head] };
  const before = await checkLog(folder, vault, { ...known, ...heads, onProgress: part(0) });
  if (before.exit !== 0 || before.cut === null || before.cut.sealed === null) {
    throw new Denied(
      "archive_refused",
      `Nothing was moved: a log is cut only while it is intact (${before.firstBreach?.code ?? before.trouble ?? "no seal"}). Look at it with: gw audit verify`,
    );
  }
  const { segment: first } = before.begins;
  // What one that was cut short has moved, and not yet removed, goes with the rest where the part before went.
  const names = movable(folder, goesOn(target, first) ? 1 : first, cutAt);
  if (names.length === 0) return nothingDue(target, asked !== options, options, deps);
  await copyDurably(folder, target, first, names, part(1));
  const copy = await checkLog(target, vault, { ...known, onProgress: part(2) });
  bar.clear();
  if (copy.exit !== 0 || !isDeepStrictEqual(copy.cut, before.cut)) {
    throw new Denied(
      "archive_refused",
      `Nothing was removed: the copy in ${target} is not the log (${copy.firstBreach?.code ?? copy.trouble ?? "another end"}). Use an empty folder.`,
    );
  }
  const { sealed, segment, nextFrame } = before.cut;
  // Otherwise the cut is in place, and the log has told of it.
  if (segment > first) {
    const signed = sign(before.cut, operator, target, deps);
    await note(options, deps, operator, { cut: before.cut, signed });
    replaceFile(join(folder, CUT_NAME), Buffer.from(signed, "utf8"), deps.random);
  }
  for (const name of names) rmSync(join(folder, name));
  syncFolder(folder);
  const [begin = first] = names.flatMap((name) => segmentOf(name) ?? []);
  const record = { archive: target, first_segment: begin, last_segment: segment - 1, next_frame: nextFrame };
  say(
    deps.io,
    options.json,
    record,
    `Moved segments ${begin} to ${segment - 1} to ${target}, proven up to frame ${sealed?.frame ?? 0}. The log goes on from frame ${nextFrame}. Keep the folder: gw audit verify --archive ${target} checks everything from the beginning.`,
  );
  return exits.done;
}

/** A timer goes by config.yaml: a night on which nothing is due is no failure. */
function nothingDue(target: string, byConfig: boolean, { home, json }: ArchiveOptions, { io }: CliDeps): Exit {
  const [first = 1] = segmentsIn(join(home, "audit"));
  const words = `Nothing was moved: no closed segment is that old. The log here begins with segment ${first}, and the last ${KEPT_SEGMENTS} always stay.`;
  if (!byConfig) throw new Denied("archive_refused", words);
  say(io, json, { archive: target, first_segment: null, last_segment: null, next_frame: null }, words);
  return exits.done;
}

/** What the command line says, or else what config.yaml keeps to: `retention: { keep_days: 90, keep_megabytes: 2000 }`. */
async function retentionOf(options: ArchiveOptions): Promise<ArchiveOptions> {
  const { home, before, keepDays, keepMegabytes } = options;
  if (before !== undefined || keepDays !== undefined || keepMegabytes !== undefined) return options;
  const path = join(home, "config.yaml");
  const { retention } = await readHomeConfig(home, process.geteuid?.() ?? null);
  if (retention === undefined) return options;
  const { keep_days: days, keep_megabytes: megabytes, ...others } = isMapping(retention) ? retention : {};
  const sound = [days, megabytes].every(
    (value) => value === undefined || (Number.isSafeInteger(value) && Number(value) > 0),
  );
  if (!isMapping(retention) || !sound || Object.keys(others).length > 0)
    throw invalidConfig(path, "retention must be { keep_days: N, keep_megabytes: N }, either or both, whole numbers");
  return {
    ...options,
    ...(days === undefined ? {} : { keepDays: Number(days) }),
    ...(megabytes === undefined ? {} : { keepMegabytes: Number(megabytes) }),
  };
}

/** The first segment that stays; null where that would move nothing. What is not closed never goes. */
function chooseCut(folder: string, { before, keepDays, keepMegabytes }: ArchiveOptions, nowMs: number): number | null {
  const segments = segmentsIn(folder);
  const last = segments.at(-KEPT_SEGMENTS) ?? 1;
  const beforeMs = before === undefined ? Number.POSITIVE_INFINITY : Date.parse(before);
  if (Number.isNaN(beforeMs)) throw new Misused("--before takes an ISO 8601 time or date.");
  const ageMs = keepDays === undefined ? Number.POSITIVE_INFINITY : nowMs - keepDays * 86_400_000;
  if (before === undefined && keepDays === undefined && keepMegabytes === undefined)
    throw new Misused(
      "Say what may go: --before DATE, --keep-days N, --keep-megabytes N, or retention in config.yaml.",
    );
  const limitMs = Math.min(beforeMs, ageMs);
  const byTime = segments.filter((segment) => {
    const opened = readSegmentOpen(folder, segment)?.timeSeconds;
    return opened !== undefined && opened * 1000 <= limitMs;
  });
  // A segment is over when the next one was opened: the last that was opened in time is the first that stays. What is too
  // old goes, and what is too much goes, whichever is more.
  const timed = before !== undefined || keepDays !== undefined;
  const bySize = keepMegabytes === undefined ? 0 : firstWithin(folder, segments, keepMegabytes);
  const cut = Math.min(Math.max(timed ? (byTime.at(-1) ?? 0) : 0, bySize), last);
  return cut <= (segments[0] ?? 1) ? null : cut;
}

function firstWithin(folder: string, segments: readonly number[], megabytes: number): number {
  let bytes = 0;
  for (const segment of segments.toReversed()) {
    bytes += statSync(join(folder, segmentName(segment))).size;
    if (bytes > megabytes * 1_000_000) return segment + 1;
  }
  return segments[0] ?? 1;
}

/** Of the segments in a folder, or of those before one; 0 where there is no folder. */
function bytesOf(folder: string, before = Number.POSITIVE_INFINITY): number {
  const segments = existsSync(folder) ? segmentsIn(folder).filter((segment) => segment < before) : [];
  return segments.reduce((sum, segment) => sum + statSync(join(folder, segmentName(segment))).size, 0);
}

function segmentsIn(folder: string): readonly number[] {
  return readdirSync(folder)
    .map(segmentOf)
    .filter((segment) => segment !== undefined)
    .sort((a, b) => a - b);
}

/** The segments that go, oldest first, each with the seeds that were wrapped for later readers. */
function movable(folder: string, first: number, cutAt: number): readonly string[] {
  return readdirSync(folder)
    .filter((name) => {
      const segment = segmentOf(name.slice(0, segmentName(1).length));
      return segment !== undefined && segment >= first && segment < cutAt && !name.endsWith(".new");
    })
    .sort();
}

/** Into the archive: the cut that follows it, and a checkpoint of all seals in it. */
function sign(cut: Cut, operator: OpenOperator, target: string, { random }: CliDeps): string {
  const text = signCut(cut, operator.approver.key);
  const name = segmentName(cut.segment).replace(/\.gwlog$/, "");
  replaceFile(join(target, `${name}.next.gwcut`), Buffer.from(text, "utf8"), random);
  if (cut.sealed !== null) {
    const { frame, link, timeSeconds } = cut.sealed;
    const root = rootOf(cut);
    const note = signCheckpoint(
      { logId: cut.logId, seals: cut.seals, root, frame, link, timeSeconds },
      operator.approver.key,
    );
    replaceFile(join(target, `${name}.checkpoint.note`), Buffer.from(note, "utf8"), random);
  }
  return text;
}

function rootOf({ seals, peaks }: Cut): Buffer {
  return growTree({ size: seals, peaks: peaks.map((peak) => Buffer.from(peak, "hex")) }).root();
}

interface Moved {
  readonly cut: Cut;
  readonly signed: string;
}

/** The log says that it was cut before anything of it is gone; a running gateway writes that, or else we do. */
async function note(options: OperatorOptions, deps: CliDeps, operator: OpenOperator, moved: Moved): Promise<void> {
  const keeper = await deps.homeKeeper();
  const about = {
    last_segment: moved.cut.segment - 1,
    next_frame: moved.cut.nextFrame,
    cut_digest: digestText(moved.signed),
  };
  if (!keeper.isInUse(options.home)) return keeper.noteArchived(options.home, operator, about);
  const client = await connectOperator(operatorDoor(options), operator, deps.clock);
  try {
    await client.noteArchived(moved.signed);
  } finally {
    client.close();
  }
}
