import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { segmentName, segmentOf } from "../frame/layout.ts";

/** A place in the log to begin at: what stands before it is passed over without being opened. */
export interface ReadFrom {
  readonly segment: number;
  /** The first frame that counts begins here or later. */
  readonly offset: number;
}

/** Where about so many bytes of the log are left to read; undefined where that is all of it. */
export function fromNewest(folder: string, bytes: number): ReadFrom | undefined {
  let left = bytes;
  for (const segment of segmentsOf(folder).reverse()) {
    const size = sizeOf(folder, segment);
    if (size > left) return { segment, offset: size - left };
    left -= size;
  }
  return undefined;
}

/** How large the log is now, and how much of it stands before a place. */
export function extentOf(folder: string): { readonly total: number; before(place: ReadFrom): number } {
  const begins = new Map<number, number>();
  let total = 0;
  for (const segment of segmentsOf(folder)) {
    begins.set(segment, total);
    total += sizeOf(folder, segment);
  }
  return { total, before: ({ segment, offset }) => (begins.get(segment) ?? total) + offset };
}

/** Nothing where it was archived since the folder was listed. */
function sizeOf(folder: string, segment: number): number {
  return statSync(join(folder, segmentName(segment)), { throwIfNoEntry: false })?.size ?? 0;
}

/** Which of the folders of one log holds a segment: archives first and its own last, which is believed as a check believes it. */
export function folderWith(folders: readonly string[], segment: number): string | undefined {
  return folders.findLast((folder) => existsSync(join(folder, segmentName(segment))));
}

export function segmentsOf(folder: string): number[] {
  return readdirSync(folder)
    .map(segmentOf)
    .filter((number) => number !== undefined)
    .sort((a, b) => a - b);
}
