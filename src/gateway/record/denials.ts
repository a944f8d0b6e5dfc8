import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { Core } from "../core.ts";
import type { LiveCaller } from "../ports.ts";
import { nameCaller } from "./record.ts";

export interface DenialContext {
  readonly caller: LiveCaller;
  readonly runId: string | null;
  readonly callId: string | null;
  readonly action: string;
}

/**
 * Denials are recorded with the care of calls, and bounded: past a user's allowance they are counted and written as one
 * event a second, so that nobody can fill the disk with refusals.
 */
export interface DenialRecorder {
  record(denied: Denied, context: DenialContext): Promise<void>;
}

interface Counted {
  readonly code: Denied["code"];
  readonly caller: string;
  readonly firstAt: string;
  lastAt: string;
  count: number;
}

export function createDenialRecorder(core: Core): DenialRecorder {
  const { clock, sleep } = core.ports;
  const buckets = new Map<number, { tokens: number; atMs: number }>();
  let counted = new Map<string, Counted>();

  function take(uid: number): boolean {
    const nowMs = clock.bootMs();
    const bucket = buckets.get(uid) ?? { tokens: defaults.denialsBurst, atMs: nowMs };
    const refilled = bucket.tokens + ((nowMs - bucket.atMs) / 1000) * defaults.denialsPerSecond;
    const tokens = Math.min(defaults.denialsBurst, refilled);
    buckets.set(uid, { tokens: tokens >= 1 ? tokens - 1 : tokens, atMs: nowMs });
    return tokens >= 1;
  }

  function count(denied: Denied, caller: LiveCaller): void {
    const at = isoTime(clock.wallMs());
    const key = `${caller.uid} ${denied.code}`;
    const entry = counted.get(key);
    if (entry !== undefined) {
      entry.count++;
      entry.lastAt = at;
      return;
    }
    if (counted.size === 0) void flushLater();
    counted.set(key, { code: denied.code, caller: `uid ${caller.uid}`, firstAt: at, lastAt: at, count: 1 });
  }

  async function flushLater(): Promise<void> {
    await sleep.sleep(1_000);
    const batch = counted;
    counted = new Map();
    const events = [...batch.values()].map((entry) => ({
      ...core.envelope("denials_counted"),
      code: entry.code,
      caller: entry.caller,
      count: entry.count,
      first_at: entry.firstAt,
      last_at: entry.lastAt,
    }));
    await core.ledger.record("denials.counted", events).catch(() => undefined);
  }

  return {
    async record(denied, { caller, runId, callId, action }) {
      if (!take(caller.uid)) return count(denied, caller);
      await core.ledger
        .record("call.denied", [
          {
            ...core.envelope("call_denied"),
            ...(runId === null ? {} : { run_id: runId }),
            ...(callId === null ? {} : { call_id: callId }),
            code: denied.code,
            action,
            caller: nameCaller(caller),
            reason: denied.message,
          },
        ])
        // A denial stands even when it can no longer be written: nothing is sent either way.
        .catch(() => undefined);
    },
  };
}
