/**
 * Faults on request: what real providers and networks do to their clients, armed by a control route that is off unless
 * the provider was started with it. Each fault strikes a counted number of times, on one route or on any.
 */
import { Denied } from "../../../src/kernel/failure.ts";

/** Faults that strike the exchange of one request. */
export const exchangeFaults = [
  "timeout_before_commit",
  "timeout_after_commit",
  "drop_before_commit",
  "drop_after_commit",
  "drop_mid_response",
  "late_before_commit",
  "late_after_commit",
  "unavailable_before_commit",
  "unavailable_after_commit",
  "duplicate",
  "rate_limited",
  "loop_cursor",
  "foreign_next_link",
  "unknown_job_id",
  "lie",
  "echo_credential",
] as const;

/** Faults that strike work which outlives the request. */
export const laterFaults = [
  "job_fails",
  "cancel_too_late",
  "webhook_repeat",
  "webhook_reorder",
  "webhook_lose",
] as const;

export type ExchangeFault = (typeof exchangeFaults)[number];
export type FaultName = ExchangeFault | (typeof laterFaults)[number];

export type ArmedFault = {
  readonly fault: FaultName;
  /** `METHOD /path` as the document writes it; null strikes any route. */
  readonly endpoint: string | null;
  readonly times: number;
  readonly delay_ms: number;
  /** Null: no Retry-After is sent. */
  readonly retry_after_s: number | null;
};

export interface Faults {
  readonly enabled: boolean;
  arm(fault: ArmedFault): void;
  list(): readonly ArmedFault[];
  clear(): void;
  /** The first armed fault among `names` that fits, counted down; undefined when none strikes. */
  take(names: readonly FaultName[], endpoint: string): ArmedFault | undefined;
}

export function createFaults(enabled: boolean, most: number): Faults {
  let armed: ArmedFault[] = [];
  return {
    enabled,
    arm(fault) {
      if (armed.length >= most) throw new Denied("value_not_allowed", `at most ${most} faults can be armed`);
      armed.push(fault);
    },
    list: () => armed,
    clear() {
      armed = [];
    },
    take(names, endpoint) {
      if (armed.length === 0) return undefined;
      const found = armed.find((one) => names.includes(one.fault) && (one.endpoint ?? endpoint) === endpoint);
      if (found === undefined) return undefined;
      armed = armed.flatMap((one) => {
        if (one !== found) return [one];
        return one.times > 1 ? [{ ...one, times: one.times - 1 }] : [];
      });
      return found;
    },
  };
}
