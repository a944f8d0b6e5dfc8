import { join } from "node:path";
import { defaults } from "../../kernel/defaults.ts";
import type { Cut, Cutter } from "../cut/cut.ts";
import { segmentName } from "../frame/layout.ts";
import { isWriterLive } from "../lock.ts";
import { breachAt, type Check, type CheckOptions, checkBoundary, startCheck } from "./check.ts";
import type { Breach } from "./findings.ts";
import type { VerifyReport } from "./report.ts";
import type { Scan } from "./scan.ts";
import { checkSegment } from "./segment.ts";
import { findStart, type Start, WHOLE } from "./start.ts";
import { judge, tellUnreadable } from "./verdict.ts";

/**
 * Checks a log with nothing but its folder: no key, no vault, no store. Frames, links, numbers, seals, attestations,
 * the continuity of segments, declared torn ends; and, when they are given, a checkpoint and heads that were seen.
 */
export interface VerifyOptions extends CheckOptions {
  /** Who may have moved older segments away, with names and times from the list of operators. */
  readonly cutters?: readonly Cutter[];
  /** Folders with segments that were moved away: given, the log is checked from its beginning. */
  readonly archives?: readonly string[];
  /** What an earlier check of this very log reported as its cut, remembered outside the log's folder: only what follows is checked. */
  readonly from?: Cut | null;
  /** Looks at segments ahead of the walk, on several threads. It is asked for none that a live writer may still change. */
  readonly scanAhead?: (segments: readonly ToScan[]) => ScanAhead;
}

export interface ToScan {
  readonly segment: number;
  readonly path: string;
  readonly bytes: number;
}

export interface ScanAhead {
  /** In the order in which they were named. Null where nothing was scanned, or nothing ordinary was found. */
  take(segment: number): Promise<Scan | null>;
  close(): void;
}

export async function verifyLog(
  options: VerifyOptions,
  looksLeft: number = defaults.filesLooks,
): Promise<VerifyReport> {
  let start: Start;
  try {
    start = findStart(options);
  } catch (error) {
    if (isGone(error) && looksLeft > 0) return await verifyLog(options, looksLeft - 1);
    return tellUnreadable(startCheck(options, WHOLE, false), error);
  }
  const check = startCheck(options, start, isWriterLive(options.folder));
  if (start.places.size === 0) {
    return tellUnreadable(check, new Error(noLogIn(options.folder, options.command)));
  }
  if (start.breach !== null) return judge(check, breachAt(check, start.breach, start.first, 0));
  const ahead = options.scanAhead?.(settledSegments(check));
  let stopped: Breach | null;
  try {
    stopped = await walkSegments(check, ahead);
  } catch (error) {
    if (!isGone(error) || looksLeft === 0) return tellUnreadable(check, error);
    return await verifyLog(options, looksLeft - 1);
  } finally {
    ahead?.close();
  }
  return judge(check, stopped);
}

/** What was listed a moment before: an archive has moved it away, and the log begins later by now. */
function isGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

/** Of a folder that is there, and holds no segment. */
export function noLogIn(folder: string, command: string | undefined): string {
  return `There is no log in ${folder}.${command === undefined ? "" : ` Name its folder: ${command} --log FOLDER`}`;
}

/** All that are walked and that nobody may still change, in their order. */
function settledSegments({ start: { first, last, places }, live }: Check): readonly ToScan[] {
  return [...places]
    .filter(([segment]) => segment >= first && !(live && segment === last))
    .map(([segment, { folder, bytes }]) => ({ segment, bytes, path: join(folder, segmentName(segment)) }))
    .sort((a, b) => a.segment - b.segment);
}

/** The first breach that stops the walk; null where it came to the end. */
async function walkSegments(check: Check, ahead: ScanAhead | undefined): Promise<Breach | null> {
  const { first, last, places } = check.start;
  for (let segment = first; segment <= last; segment++) {
    const place = places.get(segment);
    if (place === undefined) return breachAt(check, "segment_missing", segment, 0);
    const breach =
      checkBoundary(check, segment) ??
      (await checkSegment(check, segment, place.folder, (await ahead?.take(segment)) ?? null));
    if (breach !== null) return breach;
  }
  return checkBoundary(check, last + 1);
}
