import type { NewEvent } from "../../audit/event.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AuditSink, IntentReceipt } from "../ports.ts";

/**
 * The way into a log that may be full. What would begin something is refused then. What has happened already cannot be: it
 * stands in line until there is room, and nothing passes it. Nothing new is begun meanwhile, so that no more stands there
 * than was under way.
 */
export interface RoomLine {
  /** What would begin something. */
  append(events: readonly NewEvent[]): Promise<IntentReceipt>;
  /** What has happened. */
  appendOnceRoom(events: readonly NewEvent[]): Promise<IntentReceipt>;
  /** Denied where something stands in line. */
  requireEmpty(): void;
  /** Whether something that would begin is taken now. */
  hasRoom(): boolean;
  /** Kept once all that stands in line now is told, or cannot be. */
  emptied(): Promise<unknown>;
}

export function createRoomLine(audit: Pick<AuditSink, "append" | "hasRoom">, sleep: Sleep): RoomLine {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function untilRoom(events: readonly NewEvent[]): Promise<IntentReceipt> {
    for (;;) {
      try {
        return await audit.append(events);
      } catch (error) {
        if (!isFull(error)) throw error;
      }
      await sleep.sleep(defaults.logRoomLookMs);
    }
  }

  function wait(events: readonly NewEvent[]): Promise<IntentReceipt> {
    waiting++;
    const mine = last.then(() => untilRoom(events));
    last = mine.catch(() => undefined);
    return mine.finally(() => waiting--);
  }

  return {
    append: (events) => (waiting === 0 ? audit.append(events) : Promise.reject(full())),
    appendOnceRoom(events) {
      // Before anything else can be asked: what comes after it stays behind it.
      if (waiting > 0 || !audit.hasRoom()) return wait(events);
      return audit.append(events).catch((error: unknown) => {
        if (isFull(error)) return wait(events);
        throw error;
      });
    },
    requireEmpty() {
      if (waiting > 0) throw full();
    },
    hasRoom: () => waiting === 0 && audit.hasRoom(),
    emptied: () => last,
  };
}

export function isFull(error: unknown): boolean {
  return error instanceof Denied && error.code === "log_backlogged";
}

function full(): Denied {
  const message = "What has ended waits for room in the log, and nothing new is begun before it; nothing was recorded.";
  return new Denied("log_backlogged", message, { retryAllowed: true });
}
