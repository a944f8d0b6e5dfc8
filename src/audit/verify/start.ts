import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { growTree } from "../checkpoint/tree.ts";
import {
  CUT_NAME,
  type Cut,
  type Cutter,
  isCut,
  judgeCutter,
  MAX_CUT_BYTES,
  type ReadCut,
  readCut,
} from "../cut/cut.ts";
import { ATTESTABLE_KEPT, segmentName, segmentOf } from "../frame/layout.ts";
import { openReadFile } from "../node-files.ts";
import { readSegmentOpen } from "../read/marks.ts";
import type { BreachCode, NoticeCode } from "./findings.ts";
import type { Walk } from "./walk.ts";

/** Where a check begins: at the first segment of all, or at the cut that stands for those that were moved away. */
export interface Start {
  readonly first: number;
  readonly last: number;
  readonly places: ReadonlyMap<number, { readonly folder: string; readonly bytes: number }>;
  /** The cut that the walk begins with; null when it begins at the beginning. */
  readonly cut: Cut | null;
  /** The cut that is there, whether or not the walk needs it. */
  readonly signed: ReadCut | null;
  readonly breach: BreachCode | null;
  readonly notices: readonly { readonly code: NoticeCode; readonly detail: string }[];
}

export const WHOLE: Start = {
  ...{ first: 1, last: 0, places: new Map(), cut: null, signed: null, breach: null, notices: [] },
};

interface StartOptions {
  readonly folder: string;
  readonly archives?: readonly string[];
  readonly operators?: readonly Buffer[];
  readonly cutters?: readonly Cutter[];
  readonly from?: Cut | null;
}

/** Where something is missing below what was checked before, everything that is there is checked and judged anew. */
export function findStart(options: StartOptions): Start {
  const start = startOfAll(options);
  const { from } = options;
  if (from == null || !isCut(from) || start.breach !== null || from.segment < start.first) return start;
  for (let one = start.first; one <= from.segment; one++) if (!start.places.has(one)) return start;
  return { ...start, first: from.segment, cut: from };
}

function startOfAll(options: StartOptions): Start {
  const places = new Map<number, { readonly folder: string; readonly bytes: number }>();
  for (const folder of [...(options.archives ?? []), options.folder]) {
    for (const name of readdirSync(folder)) {
      const segment = segmentOf(name);
      if (segment !== undefined) places.set(segment, { folder, bytes: statSync(join(folder, name)).size });
    }
  }
  const last = [...places.keys()].reduce((most, segment) => Math.max(most, segment), 0);
  const base = { ...WHOLE, last, places };
  const text = readCutFile(options.folder) ?? firstOf(options.archives ?? [], readCutFile);
  if (text === undefined) return base;
  const signed = readCut(text) ?? null;
  if (signed === null) return { ...base, breach: "cut_malformed" };
  const { cut } = signed;
  const gone = missingBelow(places, cut.segment);
  if (!gone) return { ...base, signed };
  const start = { ...base, first: cut.segment, cut, signed };
  const place = places.get(cut.segment);
  // A cut that stands right at the end has nothing behind it yet; everything else is opened by somebody, at some time.
  const opened = place === undefined ? undefined : readSegmentOpen(place.folder, cut.segment);
  if (opened === undefined) return { ...start, breach: "segment_missing" };
  const left = [...places.keys()].some((segment) => segment < cut.segment);
  const leftover = left ? ([{ code: "cut_left", detail: "" }] as const) : [];
  const cutters = cuttersOf(options);
  if (cutters === null) return { ...start, notices: [{ code: "cut_not_pinned", detail: "" }, ...leftover] };
  const judged = judgeCutter(signed, cutters, opened.timeSeconds);
  if (judged.kind === "refused") return { ...start, breach: judged.why };
  return { ...start, notices: [{ code: "cut", detail: judged.by }, ...leftover] };
}

/** Pins are keys alone: whoever gives them says that they count, today and then. */
function cuttersOf({ operators, cutters }: StartOptions): readonly Cutter[] | null {
  if (operators === undefined) return cutters ?? null;
  const named = (key: Buffer): string => cutters?.find((one) => one.key.equals(key))?.name ?? "a pinned operator";
  return operators.map(
    (key) => cutters?.find((one) => one.key.equals(key)) ?? { key, name: named(key), removedAtSeconds: null },
  );
}

function missingBelow(places: ReadonlyMap<number, unknown>, segment: number): boolean {
  for (let one = 1; one < segment; one++) if (!places.has(one)) return true;
  return false;
}

function firstOf<Found>(folders: readonly string[], look: (folder: string) => Found | undefined): Found | undefined {
  for (const folder of folders) {
    const found = look(folder);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readCutFile(folder: string): string | undefined {
  if (!readdirSync(folder).includes(CUT_NAME)) return undefined;
  const file = openReadFile(join(folder, CUT_NAME));
  try {
    const bytes = Buffer.alloc(MAX_CUT_BYTES + 1);
    const got = file.read(bytes, 0);
    return got > MAX_CUT_BYTES ? "" : bytes.toString("utf8", 0, got);
  } finally {
    file.close();
  }
}

/** What a walk that stands before this segment carries into it. */
export function cutOf(walk: Walk, segment: number): Cut | null {
  if (walk.logId === null || walk.previous === null || walk.previous.segment !== segment - 1) return null;
  const { length, tail } = walk.previous;
  const { open } = walk;
  return {
    logId: walk.logId.toString("hex"),
    segment,
    nextFrame: walk.nextFrame,
    link: walk.link.toString("hex"),
    previousLength: length,
    tailLength: tail.length,
    tailHash: tail.hash.toString("hex"),
    endedBy: walk.endedBy,
    sealKey: hex32(walk.sealKey),
    sealed: walk.sealed,
    open:
      open === null
        ? null
        : {
            frame: open.frame,
            link: open.link.toString("hex"),
            before: open.before.toString("hex"),
            unclean: open.unclean,
          },
    era: walk.eras.at(-1) ?? null,
    attestable: [...walk.attestable].slice(-ATTESTABLE_KEPT).map(([frame, link]) => [frame, link.toString("hex")]),
    seals: walk.tree.size(),
    peaks: walk.tree.peaks().map((peak) => peak.toString("hex")),
  };
}

export function walkFrom(cut: Cut): Partial<Walk> {
  const { segment, open } = cut;
  const bytes = (text: string): Buffer => Buffer.from(text, "hex");
  return {
    logId: bytes(cut.logId),
    segment,
    file: segmentName(segment),
    nextFrame: cut.nextFrame,
    link: bytes(cut.link),
    previous: {
      segment: segment - 1,
      length: cut.previousLength,
      tail: { length: cut.tailLength, hash: bytes(cut.tailHash), damage: null },
      broke: null,
    },
    endedBy: cut.endedBy,
    sealKey: bytes(cut.sealKey),
    sealed: cut.sealed,
    open: open === null ? null : { ...open, link: bytes(open.link), before: bytes(open.before) },
    attestable: new Map(cut.attestable.map(([frame, link]) => [frame, bytes(link)])),
    eras: cut.era === null ? [] : [cut.era],
    tree: growTree({ size: cut.seals, peaks: cut.peaks.map(bytes) }),
  };
}

/** A clean stop announces no key: zeros. */
function hex32(key: Buffer): string {
  return key.toString("hex").padEnd(64, "0");
}
