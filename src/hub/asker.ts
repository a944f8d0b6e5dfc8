import { type Sleep, Waker } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";

/** One connection to the hub's database, made when somebody asks and anew after it was lost, with a bound on each answer. */
export interface Asker {
  ask<Row extends object>(text: string, values: readonly unknown[], often?: string): Promise<readonly Row[]>;
  close(): void;
}

export function createAsker(
  { connect, sleep }: { connect(): Promise<HubConnection>; readonly sleep: Sleep },
  words: { readonly over: string; readonly late: string },
): Asker {
  let connection: Promise<HubConnection> | null = null;
  let closed = false;

  /** One that is lost while nobody asks is not asked first. */
  function open(): Promise<HubConnection> {
    const opening = connect();
    connection = opening;
    const forget = (): void => {
      if (connection === opening) connection = null;
    };
    opening.then((made) => made.onLost(forget), forget);
    return opening;
  }

  async function inTime<Value>(work: Promise<Value>): Promise<Value> {
    const stop = new Waker();
    const late = sleep.sleep(defaults.hubWaitMs, stop).then((): Value => {
      throw new Denied("hub_unreachable", words.late);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([work, late]);
    } finally {
      stop.wake();
    }
  }

  return {
    async ask<Row extends object>(text: string, values: readonly unknown[], often?: string) {
      if (closed) throw new Denied("hub_unreachable", words.over);
      const used = connection ?? open();
      try {
        return await inTime(used.then((made) => made.ask<Row>(text, values, often)));
      } catch (error) {
        if (connection === used) connection = null;
        void used.then((made) => made.close()).catch(() => undefined);
        throw error;
      }
    },
    close() {
      closed = true;
      void connection?.then((made) => made.close()).catch(() => undefined);
    },
  };
}
