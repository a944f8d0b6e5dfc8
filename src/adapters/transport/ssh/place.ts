import type { SendLimits } from "../../../gateway/ports.ts";
import { type Sleep, Waker } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { OutputKeeper } from "./output.ts";

/**
 * The place of large output in the room that all answers share. While there is none the pipe is not read, and not for long:
 * a receiver ends when nobody reads its last frame, and what happened would be unknown for want of room. So it would where the
 * send's own time passed meanwhile, so half of what is left of that is the most. What has no place by then is cut.
 */
export interface OutputPlace {
  /** After each piece of output. */
  need(keeper: OutputKeeper, pipe: Pipe): void;
  /** The answer is that long, or there is none. */
  settle(bytes: number): void;
}

interface Pipe {
  pause(): unknown;
  resume(): unknown;
}

export function createOutputPlace(
  { room, holder, timeoutMs }: Pick<SendLimits, "room" | "holder" | "timeoutMs">,
  sleep: Sleep,
  elapsedMs: () => number,
): OutputPlace {
  const done = new Waker();
  let took = false;
  let waits = false;

  function take(keeper: OutputKeeper, pipe: Pipe): void {
    if (room === undefined || holder === undefined) return;
    took = true;
    waits = !room.take(holder, keeper.mostBytes, () => {
      waits = false;
      done.wake();
    });
    if (!waits) return;
    pipe.pause();
    const waitMs = Math.max(0, Math.min(defaults.sshRoomWaitMs, (timeoutMs - elapsedMs()) / 2));
    void sleep.sleep(waitMs, done).then(() => {
      if (waits) keeper.close();
      if (waits) room.leave(holder);
      pipe.resume();
    });
  }

  return {
    need(keeper, pipe) {
      if (!took && keeper.heldBytes > defaults.smallAnswerBytes) take(keeper, pipe);
    },
    settle(bytes) {
      if (!took || room === undefined || holder === undefined) return;
      if (waits || bytes === 0) room.leave(holder);
      else room.fit(holder, bytes);
      waits = false;
      done.wake();
    },
  };
}
