import { type ReadCheckpoint, readCheckpoint } from "../checkpoint/checkpoint.ts";
import type { Cut } from "../cut/cut.ts";
import type { BreachCode } from "./findings.ts";
import type { VerifyReport } from "./report.ts";

/** What is known of a log outside its folder. Only this can tell that the log once went further, or was another. */
export interface Known {
  /** The text of a signed checkpoint. */
  readonly checkpoint?: string;
  /** Heads that someone remembers, kept outside the log's folder. */
  readonly heads?: readonly { readonly frame: number; readonly link: string }[];
  /**
   * The last seal that an earlier check of this very log found good, remembered outside the log's folder. The bytes that lead to its link
   * are those that were checked then: their signatures are not verified again, since all of them would cost more with every day.
   */
  readonly sealed?: { readonly frame: number; readonly link: string } | null;
}

export interface Witnesses {
  /** Compares the checkpoint with the seal that it is about, when the walk stands there. */
  atSeal(seal: { readonly seals: number; readonly frame: number; readonly link: string }, root: () => Buffer): boolean;
  /** The frame of the next head; infinite when there is none. */
  nextHead(): number;
  /** Compares the next head with the link of its frame. */
  atHead(link: string): boolean;
  /** Frames of the heads from before the place where the walk began, of which the cut knows nothing. */
  readonly headsBefore: readonly number[];
  /** The frame of a head that the cut contradicts; null where there is none. */
  readonly wrongBefore: number | null;
  /** What the whole walk did not come by, or came by in vain. `archived`: the checkpoint is from before its beginning. */
  atEnd(
    logId: string | null,
    seals: number,
  ): {
    readonly wrong: readonly { readonly code: BreachCode; readonly frame?: number }[];
    readonly archived: number | null;
  };
  report(): Pick<VerifyReport, "checkpoint" | "heads">;
}

/** `cut`: what the walk begins with; null at the beginning. */
export function startWitnesses(given: Known, pins: readonly Buffer[] | null, cut: Cut | null): Witnesses {
  const checkpoint = given.checkpoint === undefined ? null : readCheckpoint(given.checkpoint, pins ?? []);
  const known = [...(given.heads ?? []), ...(given.sealed == null ? [] : [given.sealed])].sort(
    (a, b) => a.frame - b.frame,
  );
  const begins = cut?.nextFrame ?? 0;
  const links = cut === null ? new Map<number, string>() : linksIn(cut);
  const before = known
    .filter(({ frame }) => frame < begins && links.has(frame))
    .map(({ frame, link }) => ({ frame, held: links.get(frame) === link }));
  const heads = known.filter(({ frame }) => frame >= begins);
  const compared: { frame: number; held: boolean }[] = [];
  let checkpointHeld = false;

  function judgeCheckpoint(found: ReadCheckpoint, logId: string | null, seals: number): BreachCode | null {
    if (found.logId !== logId) return "checkpoint_other_log";
    if (pins !== null && found.signedBy === undefined) return "checkpoint_signature";
    if (found.seals > seals) return "checkpoint_behind";
    // Fewer seals end earlier: one that counts fewer and stands no earlier is of another history.
    const later = cut !== null && found.seals < cut.seals && found.frame >= (cut.sealed?.frame ?? 0);
    return later || (links.get(found.frame) ?? found.link) !== found.link ? "checkpoint_mismatch" : null;
  }

  return {
    headsBefore: known.filter(({ frame }) => frame < begins && !links.has(frame)).map(({ frame }) => frame),
    wrongBefore: before.find(({ held }) => !held)?.frame ?? null,
    atSeal(seal, root) {
      if (checkpoint === null || checkpoint === undefined || seal.seals !== checkpoint.seals) return true;
      checkpointHeld =
        checkpoint.root.equals(root()) && checkpoint.frame === seal.frame && checkpoint.link === seal.link;
      return checkpointHeld;
    },
    nextHead: () => heads[compared.length]?.frame ?? Number.POSITIVE_INFINITY,
    atHead(link) {
      const head = heads[compared.length];
      if (head === undefined) return true;
      const held = head.link === link;
      compared.push({ frame: head.frame, held });
      return held;
    },
    atEnd(logId, seals) {
      const wrong: { code: BreachCode; frame?: number }[] = [];
      let archived: number | null = null;
      if (checkpoint === undefined) wrong.push({ code: "checkpoint_malformed" });
      else if (checkpoint !== null) {
        const code = judgeCheckpoint(checkpoint, logId, seals);
        if (code !== null) wrong.push({ code });
        else if (checkpoint.seals < (cut?.seals ?? 0)) archived = checkpoint.frame;
      }
      for (const { frame } of heads.slice(compared.length)) {
        compared.push({ frame, held: false });
        wrong.push({ code: "head_behind", frame });
      }
      return { wrong, archived };
    },
    report: () => ({
      checkpoint:
        checkpoint === null || checkpoint === undefined
          ? null
          : { seals: checkpoint.seals, signed: checkpoint.signedBy !== undefined, held: checkpointHeld },
      heads: [...before, ...compared],
    }),
  };
}

/** Of what was moved away a cut still names some frames: the last of all, and the latest OPEN and SEAL frames. */
function linksIn({ nextFrame, link, attestable }: Cut): ReadonlyMap<number, string> {
  return new Map([...attestable, [nextFrame - 1, link]]);
}
