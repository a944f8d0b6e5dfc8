import type { SessionEnding } from "../caller/session.ts";

const words = {
  process_exited: "the program that asked has ended",
  parent_exited: "the program above the one that asked has ended",
  image_replaced: "the program that asked became another one",
  connection_closed: "the program that asked closed its connection",
  operator_revoked: "an operator ended its session",
  gateway_locked: "the gateway was locked or stopped",
  run_over: "its run is over",
  run_deadline_exhausted: "the time of its run is over",
  no_call_came: "the call that it was for never came",
  call_cancelled: "whoever asked gave up waiting",
  read_otherwise: "somebody read it meanwhile",
  operation_settled: "the operation was settled meanwhile",
  superseded: "a card that says more took its place",
} as const satisfies Readonly<Record<SessionEnding, string>> & Readonly<Record<string, string>>;

/** Why a question was taken back, for whoever looked at it. A reason that has no words here stays as it is. */
export function withdrawnWords(reason: string): string {
  return Object.hasOwn(words, reason) ? words[reason as keyof typeof words] : reason;
}
