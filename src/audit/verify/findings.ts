/** Everything `verify` can find, in words. A breach makes the log not intact; a notice says what the proof leaves open. */
export const breaches = {
  segment_unknown: "the file does not start as a segment of a log does",
  segment_missing: "a segment with this number is missing",
  segment_not_first: "the first segment is not the beginning of a log",
  segment_not_continued: "the segment does not continue the one before it",
  segment_empty: "the segment holds no whole frame",
  frame_impossible: "the bytes are no frame",
  frame_number: "the frame has not the next number",
  frame_link: "the frame does not hash to its link: it, or a frame before it, was changed",
  frame_misplaced: "a frame of this type cannot stand here",
  frame_size: "the frame has a size that the writer never makes",
  open_malformed: "the OPEN frame cannot be read",
  open_other_log: "the segment belongs to another log",
  open_other_number: "the file's name and its OPEN frame name different segments",
  open_reason: "the OPEN frame gives a reason that the end of the segment before contradicts",
  open_seal_key: "the segment does not continue the chain of seal keys",
  length_mismatch: "the next segment declares another length of this one",
  tail_mismatch: "the torn end is not the one that the next segment declares",
  tail_undeclared: "the log ends in a torn frame, no writer is live, and no later segment declares it",
  tail_after_stop: "bytes follow a clean stop",
  seal_malformed: "the SEAL frame cannot be read",
  seal_count: "the SEAL frame counts other frames than there are",
  seal_signature: "the signature of the SEAL frame is not by the key that was announced",
  seal_missing: "records stand before the first seal of the segment",
  attest_malformed: "the ATTEST frame cannot be read, or its signature is wrong",
  attest_mismatch: "the ATTEST frame speaks of another history than this one",
  hand_invalid:
    "what is told of a passkey's answer is not signed by that passkey for a decision, or that passkey by no operator",
  hand_repeated: "a passkey's answer stands here a second time",
  unattested: "no operator attested this part of the log",
  checkpoint_malformed: "the checkpoint cannot be read",
  checkpoint_signature: "the checkpoint is not signed by a pinned operator",
  checkpoint_other_log: "the checkpoint is of another log",
  checkpoint_behind: "the log ends before the checkpoint: it was cut or rolled back",
  checkpoint_mismatch: "the log differs from the one that the checkpoint was made of",
  cut_malformed: "the cut, where the older segments were moved away, cannot be read",
  cut_signature: "the cut is signed by nobody who is or was an operator",
  cut_signer_removed: "the cut is signed by somebody who was no operator any more when the segment after it was opened",
  cut_mismatch: "the log differs from the one that the cut was made of",
  head_behind: "the log ends before a head that was seen: it was cut or rolled back",
  head_mismatch: "the log differs from the one whose head was seen",
} as const;

export type BreachCode = keyof typeof breaches;

export const notices = {
  unclean_end: "the writer did not stop cleanly here: records after this frame may be missing",
  unsealed_tail: "the last frames are whole but not yet sealed",
  writer_live: "a process holds the writer's lock: the end of the log may be in motion",
  clock_stepped_back: "a seal is dated before the one before it",
  unattested: "no operator attested this part of the log, and you allowed that",
  vouched_later: "no operator signed in while this part was written; one looked at it later and vouched for it",
  hand_not_pinned: "a decision by passkey is of an operator whose key was not pinned",
  hand_counted_back: "a passkey's counter did not go on: there may be a second one, or the gateway had lost its state",
  attester_not_pinned: "an attestation is by a key that was not pinned, and does not count",
  cut: "older segments were moved away here; the log is proven from this cut on, by the operator who signed it",
  cut_not_pinned: "the signature of the cut was not checked, since no operator is known here",
  cut_left: "segments that the cut has moved away are still here; they were not looked at",
  head_archived: "a head that was seen stands in a part that was moved away; the cut stands for it",
  checkpoint_archived: "the checkpoint stands in a part that was moved away; the cut stands for it",
  side_file_mismatch: "a rewrapped seed belongs to another segment or log",
} as const;

export type NoticeCode = keyof typeof notices;

export interface Place {
  readonly segment: number;
  readonly file: string;
  readonly offset: number;
  readonly frame: number;
}

export interface Breach extends Place {
  readonly code: BreachCode;
}

export interface Notice extends Place {
  readonly code: NoticeCode;
  readonly detail: string;
}
