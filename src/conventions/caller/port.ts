import type { Ancestor, CallerBinding, CallerEvidence } from "./evidence.ts";

/** What a fresh look at a caller found. Only `same` lets an operation go on. */
export type CallerCheck =
  | { readonly kind: "same" }
  | { readonly kind: "gone" }
  | { readonly kind: "replaced"; readonly what: string }
  | { readonly kind: "traced"; readonly tracer: number };

export type CallerEnd = Extract<CallerCheck, { readonly kind: "gone" | "replaced" }>;

/**
 * One process image, alive and held. Connections of one process share one, and each connection closes its own hold.
 * After `close` the hold answers `gone`.
 */
export interface LiveCaller {
  readonly evidence: CallerEvidence;
  readonly uid: number;
  /** The process that connected, as this machine's own pid namespace numbers it. */
  readonly pid: number;
  /** Names this live process image, and no other one during this boot; with binding `connection`, this connection. */
  readonly key: string;
  readonly binding: CallerBinding;
  /** Looks again, now. Call it before every operation and again after every wait. */
  check(): CallerCheck;
  /** Called once, when the process has exited or its image was replaced; at once if that has already happened. */
  onExit(listener: (end: CallerEnd) => void): void;
  /** The parent chain as it is now, nearest first, each link proven by walking it twice while all of it is held. */
  ancestry(): readonly Ancestor[];
  /** Another hold on the same image, for a session that outlives the connection. It is closed by itself. */
  retain(): LiveCaller;
  close(): void;
}

/** Names the process behind a connected local socket. Throws `Denied` with a `caller_…` code; never guesses. */
export interface CallerPlatform {
  identify(fd: number): Promise<LiveCaller>;
  /** Ends every watch. Callers that are still held answer `gone`. */
  close(): void;
}
