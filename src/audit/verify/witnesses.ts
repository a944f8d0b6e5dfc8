import { type ReadCheckpoint, readCheckpoint } from "../checkpoint/checkpoint.ts";
import type { BreachCode } from "./findings.ts";
import type { VerifyReport } from "./report.ts";

/** What is known of a log outside its folder. Only this can tell that the log once went further, or was another. */
export interface Known {
  /** The text of a signed checkpoint. */
  readonly checkpoint?: string;
  /** Heads that someone remembers, kept outside the log's folder. */
  readonly heads?: readonly { readonly frame: number; readonly link: string }[];
}

export interface Witnesses {
  /** Compares the checkpoint with the seal that it is about, when the walk stands there. */
  atSeal(seal: { readonly seals: number; readonly frame: number; readonly link: string }, root: () => Buffer): boolean;
  /** The frame of the next head; infinite when there is none. */
  nextHead(): number;
  /** Compares the next head with the link of its frame. */
  atHead(link: string): boolean;
  /** Frames of the heads from before the place where the walk began. */
  readonly headsBefore: readonly number[];
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

/** `begins`: the frame that the walk begins with, and the seals that stand before it. */
export function startWitnesses(
  given: Known,
  pins: readonly Buffer[] | null,
  begins: { readonly frame: number; readonly seals: number },
): Witnesses {
  const checkpoint = given.checkpoint === undefined ? null : readCheckpoint(given.checkpoint, pins ?? []);
  const known = [...(given.heads ?? [])].sort((a, b) => a.frame - b.frame);
  const heads = known.filter(({ frame }) => frame >= begins.frame);
  const compared: { frame: number; held: boolean }[] = [];
  let checkpointHeld = false;

  function judgeCheckpoint(found: ReadCheckpoint, logId: string | null, seals: number): BreachCode | null {
    if (found.logId !== logId) return "checkpoint_other_log";
    if (pins !== null && found.signedBy === undefined) return "checkpoint_signature";
    if (found.seals > seals) return "checkpoint_behind";
    if (found.seals === 0) checkpointHeld = true;
    return null;
  }

  return {
    headsBefore: known.slice(0, known.length - heads.length).map(({ frame }) => frame),
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
        else if (checkpoint.seals < begins.seals) archived = checkpoint.frame;
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
      heads: compared,
    }),
  };
}
