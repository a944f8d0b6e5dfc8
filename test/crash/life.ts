import type { Step } from "../../src/gateway/steps.ts";
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

/** The product's seconds go by in a hundredth, the same in every process that counts from one epoch. */
const SPEED = 100;

export function hurriedTime(epochMs: number): ManualTime {
  const bootMs = (): number => (Date.now() - epochMs) * SPEED + 1_000;
  return {
    clock: { wallMs: () => epochMs + bootMs(), bootMs, bootId: () => "boot-1" },
    sleep: {
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          const timer = setTimeout(done, Math.ceil(ms / SPEED));
          function done(): void {
            clearTimeout(timer);
            signal?.removeEventListener("abort", done);
            resolve();
          }
          signal?.addEventListener("abort", done, { once: true });
        }),
    },
    advance: () => Promise.resolve(),
  };
}
