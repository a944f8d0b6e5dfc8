/** Everything that a look at a hub can find beside what the verifier of a log finds, in words. */
export const fleetFindings = {
  gateway_gone: "a gateway that you saw on this hub is not there any more",
  enrolment_invalid: "no operator that you pinned signed that this key speaks for this gateway",
  key_replaced: "another key than the one that you saw speaks for this gateway",
  leave_invalid: "the hub says that this gateway left, and no operator signed that",
  head_missing: "the hub holds nothing of this gateway's log",
  head_invalid: "what stands as the head of the log was not signed by this gateway",
  rolled_back: "the hub shows less than you saw: it was put back, or rows are withheld",
  chunk_invalid: "a part of the log was not signed by this gateway for this place: edited, moved or put there",
  chunk_missing: "a part of the log is missing",
  chunk_forked: "two parts of the log claim the same place",
  head_ahead: "the gateway signed for more than the hub shows: the newest parts are withheld",
  head_behind: "the hub shows parts after the head: the head was put back",
  no_room: "the log is longer than half of what is free in the folder for temporary files here (TMPDIR names another)",
  other_log: "the parts are of another log than the operator signed for",
  log_not_intact: "the log itself does not hold",
} as const;

export type FleetCode = keyof typeof fleetFindings;

export interface FleetFinding {
  readonly code: FleetCode;
  readonly detail: string;
}
