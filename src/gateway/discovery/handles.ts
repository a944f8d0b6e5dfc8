import type { Digest } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";

/** Where a list that was read in part goes on, and for whom. The provider's cursor never leaves the gateway. */
export interface Continuation {
  readonly runId: string;
  readonly callerKey: string;
  readonly action: string;
  readonly inputDigest: Digest;
  readonly packDigest: Digest;
  /** Null for the first page, where that one was cut. */
  readonly cursor: string | null;
  /** Records of that page which were handed on already. */
  readonly skip: number;
  readonly pageSize: number;
  /** Cursors that were used, so that a circle is still one when it is walked in parts. */
  readonly seen: ReadonlySet<Digest>;
}

export interface Handles {
  keep(handle: string, continuation: Continuation, nowMs: number): void;
  /** Undefined where there is none, for this very call, or its time is over. */
  find(handle: string, asked: Asked, nowMs: number): Continuation | undefined;
}

type Asked = Pick<Continuation, "runId" | "callerKey" | "action" | "inputDigest" | "packDigest">;

/** Handles of lists, kept in memory for a while: whoever comes later begins the list again. */
export function createHandles(): Handles {
  const kept = new Map<string, Continuation & { readonly untilMs: number }>();
  return {
    keep(handle, continuation, nowMs) {
      kept.set(handle, { ...continuation, untilMs: nowMs + defaults.listHandleMs });
      for (const [oldest, { untilMs }] of kept) {
        if (kept.size <= defaults.listHandles && untilMs > nowMs) break;
        kept.delete(oldest);
      }
    },
    find(handle, asked, nowMs) {
      const found = kept.get(handle);
      if (found === undefined || found.untilMs <= nowMs) return undefined;
      const same = (Object.keys(asked) as (keyof Asked)[]).every((name) => found[name] === asked[name]);
      return same ? found : undefined;
    },
  };
}
