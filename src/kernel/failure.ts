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
  /** Members that the specification asks for beside the envelope, such as the observed values of a stale rollback. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** An expected refusal. The code is stable and documented; the message is for a person. */
export class Denied extends Error {
  override readonly name = "Denied";
  readonly code: Code;
  readonly errors: readonly Finding[];
  readonly retryAllowed: boolean;
  readonly extra: Readonly<Record<string, unknown>>;

  constructor(code: Code, message: string, options: DeniedOptions = {}) {
    super(message);
    this.code = code;
    this.errors = options.errors ?? [];
    this.retryAllowed = options.retryAllowed ?? false;
    this.extra = options.extra ?? {};
  }
}

/** Our own mistake or a broken environment: never the caller's doing. */
export class Fault extends Error {
  override readonly name = "Fault";
}
