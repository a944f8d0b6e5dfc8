import type { LogLimits } from "../audit-log.ts";
import type { Scheduler } from "../scheduler.ts";

/** Says when to seal: a tick while frames wait for a seal, a heartbeat while nothing happens. */
export interface SealTimer {
  noteFrame(): void;
  noteSeal(): void;
  stop(): void;
}

export interface SealTimerPorts {
  readonly scheduler: Scheduler;
  readonly limits: Pick<LogLimits, "sealTickMs" | "sealBusyMs" | "heartbeatMs">;
  readonly lastFrame: () => number;
  readonly unsealed: () => number;
  readonly seal: () => void;
}

/** One timer at a time, and none is touched while a busy log writes: re-arming would cost more than it tells. */
export function startSealTimer({ scheduler, limits, lastFrame, unsealed, seal }: SealTimerPorts): SealTimer {
  let cancelTick: (() => void) | null = null;
  let cancelHeartbeat: (() => void) | null = null;
  let busyTicks = 0;
  let frameAtTick = 0;
  let stopped = false;

  function startTicking(): void {
    cancelHeartbeat?.();
    cancelHeartbeat = null;
    frameAtTick = lastFrame();
    cancelTick = scheduler.after(limits.sealTickMs, tick);
  }

  function tick(): void {
    cancelTick = null;
    busyTicks++;
    const idle = lastFrame() === frameAtTick;
    if (unsealed() === 0) rest();
    else if (idle || busyTicks * limits.sealTickMs >= limits.sealBusyMs) {
      busyTicks = 0;
      seal();
    } else startTicking();
  }

  function rest(): void {
    busyTicks = 0;
    cancelHeartbeat?.();
    cancelHeartbeat = scheduler.after(limits.heartbeatMs, seal);
  }

  return {
    noteFrame() {
      if (cancelTick === null && !stopped) startTicking();
    },
    noteSeal() {
      if (cancelTick === null && !stopped) rest();
    },
    stop() {
      stopped = true;
      cancelTick?.();
      cancelHeartbeat?.();
    },
  };
}
