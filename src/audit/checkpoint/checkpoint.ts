import type { KeyObject } from "node:crypto";
import { isNoteSignedBy, parseNote, signNote } from "./note.ts";

/** A promise about a log at one moment: so many seals, with this root, ending at this frame (c2sp.org/tlog-checkpoint). */
export interface Checkpoint {
  readonly logId: string;
  readonly seals: number;
  readonly root: Buffer;
  /** The last seal counted. */
  readonly frame: number;
  readonly link: string;
  readonly timeSeconds: number;
}

const ORIGIN = "gw-audit/";
const LINE_COUNT = 4;

export function signCheckpoint(checkpoint: Checkpoint, approverKey: KeyObject): string {
  const origin = ORIGIN + checkpoint.logId;
  const { seals, root, frame, link, timeSeconds } = checkpoint;
  const text = `${origin}\n${seals}\n${root.toString("base64")}\nseal ${frame} ${link} ${timeSeconds}\n`;
  return signNote(text, origin, approverKey);
}

export interface ReadCheckpoint extends Checkpoint {
  /** Which of the given keys signed it; undefined when none did. */
  readonly signedBy: Buffer | undefined;
}

export function readCheckpoint(text: string, keys: readonly Buffer[]): ReadCheckpoint | undefined {
  const note = parseNote(text);
  if (note === undefined) return undefined;
  const lines = note.text.slice(0, -1).split("\n");
  const origin = /^gw-audit\/([0-9a-f]{32})$/.exec(lines[0] ?? "");
  const size = /^([1-9]\d{0,15})$/.exec(lines[1] ?? "");
  const root = Buffer.from(lines[2] ?? "", "base64");
  const seal = /^seal (0|[1-9]\d{0,15}) ([0-9a-f]{64}) (0|[1-9]\d{0,15})$/.exec(lines[3] ?? "");
  if (lines.length < LINE_COUNT || origin === null || size === null || seal === null) return undefined;
  if (root.length !== 32 || root.toString("base64") !== lines[2]) return undefined;
  return {
    logId: origin[1] ?? "",
    seals: Number(size[1]),
    root,
    frame: Number(seal[1]),
    link: seal[2] ?? "",
    timeSeconds: Number(seal[3]),
    signedBy: keys.find((key) => isNoteSignedBy(note, key)),
  };
}
