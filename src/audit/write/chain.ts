import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import { type AttestationOffer, readAttestation } from "../attestation.ts";
import type { LogLimits, SegmentSettings } from "../audit-log.ts";
import type { LogFile, LogFiles } from "../files.ts";
import { HASH_BYTES } from "../frame/bodies.ts";
import {
  ATTEST_FLAG_EARLIER,
  ATTEST_FLAG_UNCLEAN,
  ATTESTABLE_HEADS,
  ATTESTABLE_KEPT,
  segmentName,
} from "../frame/layout.ts";
import type { Head } from "../receipt.ts";
import { createSegment, openAhead, type Segment, type SegmentStart } from "./segment.ts";
import { checkSettings } from "./settings.ts";

/**
 * What one process writes: its segments one after the other, with the seals and attestations that tie them together.
 * Each of these is durable when its function returns; records are flushed by whoever writes them.
 */
export interface Chain {
  segment(): Segment;
  /** Of the last frame written. */
  head(): Head;
  seal(): void;
  /** Ends this segment and begins the next, with other settings when some are given. */
  turn(change?: Partial<SegmentSettings>): void;
  /** Whether the segment has grown as large as one may be. */
  isFull(): boolean;
  offer(head: Head): AttestationOffer;
  /** Whether a statement about this head would be taken. */
  isAttestable(head: Pick<Head, "frame" | "link">): boolean;
  attest(statement: Buffer): void;
  /** The clean stop: no frame follows. */
  finish(): void;
  /** Gives back the file that was opened ahead. */
  dropAhead(): void;
}

export interface ChainOptions extends SegmentSettings {
  readonly random: Random;
  readonly files: LogFiles;
  readonly limits: Pick<LogLimits, "segmentBytes" | "spaceBytes">;
  readonly seconds: () => number;
  readonly onSeal: () => void;
}

export function startChain(options: ChainOptions, start: SegmentStart, first: Segment): Chain {
  const { files, limits, random, seconds } = options;
  const attestable = new Map([[first.openFrame, first.openLink]]);
  let settings: SegmentSettings = options;
  let segment = first;
  let ahead: LogFile | null = null;

  /** Not now where the disk or the process has no room: a turn tries again, and only then is it a failure. */
  function prepareNext(): void {
    try {
      ahead ??= openAhead(files, segment.number + 1);
    } catch {
      ahead = null;
    }
  }
  prepareNext();

  function dropAhead(): void {
    if (ahead === null) return;
    const name = `${segmentName(segment.number + 1)}.new`;
    ahead.close();
    ahead = null;
    if (files.list().includes(name)) files.remove(name);
  }

  function seal(end: "none" | "clean" | "rotate"): void {
    segment.writeSeal(end, seconds());
    segment.file.syncInline();
    const { frame, link } = segment.head();
    attestable.set(frame, link);
    keepNewest(attestable, ATTESTABLE_HEADS);
    options.onSeal();
  }

  function turn(change: Partial<SegmentSettings> = {}): void {
    const next = { ...settings, ...change };
    checkSettings(next);
    settings = next;
    seal("rotate");
    const previous = segment;
    const { frame, link } = previous.head();
    const sealKey = previous.takeSealKey();
    const previousLength = previous.position();
    previous.finish();
    const { recipients, vaultGeneration, vaultHash } = settings;
    const spare = ahead;
    ahead = null;
    segment = createSegment(
      files,
      {
        logId: start.logId,
        segment: previous.number + 1,
        reason: "rotate",
        frame: frame + 1,
        link: Buffer.from(link, "hex"),
        previousLength,
        tornLength: 0,
        tornHash: Buffer.alloc(HASH_BYTES),
        recipients,
        vaultGeneration,
        vaultHash,
        sealKey,
        timeSeconds: seconds(),
      },
      random,
      limits.spaceBytes,
      spare,
    );
    previous.file.close();
    prepareNext();
    keepNewest(attestable, ATTESTABLE_KEPT);
    attestable.set(segment.openFrame, segment.openLink);
    // The first thing in every segment: no record may stand before a seal vouches for the OPEN.
    seal("none");
  }

  function isOurs(flags: number, body: Buffer): boolean {
    const attest = readAttestation(start.logId, flags, body);
    return (
      attest !== undefined &&
      attest.openFrame === first.openFrame &&
      attest.openLink.toString("hex") === first.openLink &&
      attest.beforeLink.equals(start.link) &&
      attestable.get(attest.headFrame) === attest.headLink.toString("hex") &&
      (flags & ~ATTEST_FLAG_EARLIER) === (start.reason === "crash" ? ATTEST_FLAG_UNCLEAN : 0)
    );
  }

  return {
    segment: () => segment,
    head: () => segment.head(),
    seal: () => seal("none"),
    turn,
    isFull: () => segment.position() > limits.segmentBytes,
    offer: (head) => ({
      logId: Buffer.from(start.logId),
      openFrame: first.openFrame,
      openLink: Buffer.from(first.openLink, "hex"),
      headFrame: head.frame,
      headLink: Buffer.from(head.link, "hex"),
      beforeFrame: Math.max(0, start.frame - 1),
      beforeLink: Buffer.from(start.link),
      unclean: start.reason === "crash",
    }),
    isAttestable: ({ frame, link }) => attestable.get(frame) === link,
    attest(statement) {
      const flags = statement[0] ?? 0;
      const body = statement.subarray(1);
      if (!isOurs(flags, body)) {
        throw new Denied("log_attestation_refused", "The statement is not about what this process wrote.");
      }
      segment.writeAttest(flags, body);
      segment.file.syncInline();
      seal("none");
    },
    finish() {
      seal("clean");
      segment.finish();
      segment.file.syncInline();
    },
    dropAhead,
  };
}

function keepNewest(heads: Map<number, string>, most: number): void {
  for (const [oldest] of heads) {
    if (heads.size <= most) return;
    heads.delete(oldest);
  }
}
