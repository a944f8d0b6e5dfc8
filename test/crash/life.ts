import type { Step } from "../../src/gateway/steps.ts";
import type { Clock, Sleep } from "../../src/kernel/clock.ts";
import type { ManualTime } from "../support/clock.ts";

/** Where a life ends: before the step, when the first of its two writes is on disk, or after it. */
export interface CrashPoint {
  readonly step: Step;
  readonly moment: "before" | "half" | "after";
}

/** One life of the gateway process: it recovers, plays a scene, and dies at the point. */
export interface Life {
  readonly folder: string;
  readonly origin: string;
  readonly token: string;
  readonly control: string;
  readonly stateKey: string;
  readonly reading: { readonly publicKey: string; readonly privateKey: string };
  readonly epochMs: number;
  readonly scene: string;
  /** Where tokens are got, for the scene in which the credential is exchanged. */
  readonly tokens: string | null;
  /** Unique among all lives: everything that this one makes at the provider bears it. */
  readonly tag: string;
  readonly number: number;
  /** Null: only recover, wait until nothing is open, and end well. */
  readonly point: CrashPoint | null;
}

/** What a scene was told and can later be held against. One line each, written before anything else happens. */
export type Told =
  | { readonly kind: "born"; readonly tag: string }
  | { readonly kind: "result"; readonly tag: string; readonly callId: string; readonly outcome: string }
  | { readonly kind: "operation"; readonly tag: string; readonly operationId: string }
  | { readonly kind: "plan"; readonly tag: string; readonly planId: string; readonly revision: string }
  | { readonly kind: "passed"; readonly step: Step; readonly log: boolean; readonly store: boolean }
  | { readonly kind: "found"; readonly operationId: string; readonly state: string }
  | { readonly kind: "reused"; readonly planId: string; readonly code: string };

const WALL_SPEED = 50;
const BOOT_SPEED = 2_000;
const TICK_MS = 1;
const LEAP_MS = 1_000;

/** The provider's time, and everybody's wall clock: fifty times as fast, the same in every process. */
export function hurriedTime(epochMs: number): { readonly clock: Clock; readonly sleep: Sleep } {
  const wallMs = (): number => epochMs + (Date.now() - epochMs) * WALL_SPEED;
  return {
    clock: { wallMs, bootMs: wallMs, bootId: () => "provider" },
    sleep: {
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          const timer = setTimeout(resolve, Math.ceil(ms / WALL_SPEED));
          signal?.addEventListener("abort", () => {
            clearTimeout(timer);
            resolve();
          });
        }),
    },
  };
}

export interface LeapingTime extends ManualTime {
  during<Result>(work: Promise<Result>): Promise<Result>;
  stop(): void;
}

/**
 * The gateway's time leaps to whatever is waited for, but stands still while a request is on its way: however slow the
 * machine is, no deadline passes because of that. It goes on from life to life.
 */
export function leapingTime(epochMs: number): LeapingTime {
  let nowMs = (Date.now() - epochMs) * BOOT_SPEED + 1_000;
  let outside = 0;
  let sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];
  const tick = (): void => {
    if (outside > 0 || sleepers.length === 0) return;
    const next = Math.min(...sleepers.map(({ atMs }) => atMs));
    nowMs = Math.min(Math.max(nowMs, next), nowMs + LEAP_MS);
    const due = sleepers.filter(({ atMs }) => atMs <= nowMs);
    sleepers = sleepers.filter(({ atMs }) => atMs > nowMs);
    for (const { wake } of due) wake();
  };
  const ticking = setInterval(tick, TICK_MS);
  return {
    clock: { wallMs: hurriedTime(epochMs).clock.wallMs, bootMs: () => nowMs, bootId: () => "boot-1" },
    sleep: {
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          const sleeper = { atMs: nowMs + ms, wake: resolve };
          sleepers.push(sleeper);
          signal?.addEventListener("abort", () => {
            sleepers = sleepers.filter((one) => one !== sleeper);
            resolve();
          });
        }),
    },
    advance: () => Promise.resolve(),
    during(work) {
      outside++;
      return work.finally(() => outside--);
    },
    stop: () => clearInterval(ticking),
  };
}
