import type { Code } from "./codes.ts";

/** One finding inside a denial: `path` is a JSON Pointer into what was sent. */
export interface Finding {
  readonly code: Code;
  readonly path: string;
  readonly message: string;
}

export interface DeniedOptions {
  readonly errors?: readonly Finding[];
  readonly retryAllowed?: boolean;
  /** What to do now, where the message may not say it. */
  readonly next?: string;
  /** Members that the specification asks for beside the envelope, such as the observed values of a stale rollback. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Where a refusal belongs, as far as the rooms it came through know it. */
export interface Circumstance {
  runId?: string;
  callId?: string;
  action?: string;
  /** The event that told of it, or that it was counted among many. */
  recordedAs?: { readonly eventId: string } | "counted";
}

/** An expected refusal. The code is stable and documented; the message is for a person. */
export class Denied extends Error {
  override readonly name = "Denied";
  readonly code: Code;
  readonly errors: readonly Finding[];
  readonly retryAllowed: boolean;
  readonly next: string | null;
  readonly extra: Readonly<Record<string, unknown>>;
  readonly circumstance: Readonly<Circumstance> = {};

  constructor(code: Code, message: string, options: DeniedOptions = {}) {
    super(message);
    this.code = code;
    this.errors = options.errors ?? [];
    this.retryAllowed = options.retryAllowed ?? false;
    this.next = options.next ?? null;
    this.extra = options.extra ?? {};
  }
}

/** Adds what a room knows of a refusal on its way out. The first to know counts: it is nearest to what was refused. */
export function placeDenied(denied: Denied, known: Circumstance): void {
  const circumstance: Circumstance = denied.circumstance;
  Object.assign(circumstance, { ...known, ...circumstance });
}

/** Our own mistake or a broken environment: never the caller's doing. */
export class Fault extends Error {
  override readonly name = "Fault";
}
