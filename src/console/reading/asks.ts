import type { KeyObject } from "node:crypto";
import type { Signers } from "../../surfaces/cli/audit/check-hand.ts";
import type { TraceRecord } from "../../surfaces/cli/audit/trace-record.ts";
import type { LastUses } from "../../surfaces/cli/grant/last-use.ts";
import type { Charts } from "./charts.ts";
import type { ActivityAnswer, LogPlace } from "./journal.ts";
import type { Wanted } from "./wanted.ts";

/** What the thread that opens the log is asked, by name, and what it answers. */
export interface Asks {
  activity: { readonly of: Wanted; readonly answer: ActivityAnswer };
  charts: { readonly of: null; readonly answer: Charts };
  call: {
    /** The gateway is named where there are several logs. */
    readonly of: { readonly id: string; readonly gateway: string | null; readonly signers: Signers };
    readonly answer: CallAnswer;
  };
  recording: { readonly of: string; readonly answer: readonly string[] };
  uses: { readonly of: null; readonly answer: LastUses };
}

export interface CallAnswer {
  readonly record: TraceRecord;
  readonly lines: readonly string[];
  /** Whatever else happened to it, each with when. */
  readonly told: readonly { readonly id: string; readonly at: string; readonly words: string }[];
  /** Where in the log each step stands, by its name. */
  readonly places: Readonly<Record<string, number>>;
  /** Attempts of it that were recorded. */
  readonly recordings: readonly string[];
}

export interface Question {
  readonly number: number;
  /** Those that are there now. */
  readonly logs: readonly LogPlace[];
  readonly name: keyof Asks;
  readonly of: unknown;
}

export type Reply = { readonly number: number } & (
  | { readonly answer: unknown }
  | { readonly denied: { readonly code: string; readonly message: string } }
  | { readonly fault: string }
);

/** What the thread is given at its start. */
export interface ReadingStart {
  readonly readingKey: KeyObject;
}
