import type { Sleep } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";

/** What is done over a connection to the hub, whichever it is. */
export interface HubWork {
  /** Ends with an error, or when it is over. Whoever calls `works` has seen that the hub answers; `requireLive` throws where the connection is gone. */
  work(connection: HubConnection, works: () => void, requireLive: () => void): Promise<void>;
  /** Whoever rests in `work` looks at once: the connection is gone. */
  wake(): void;
  /** Told of each error. */
  failed(error: unknown): void;
  isOver(): boolean;
}

/** Works over one connection after the other until it is over, after each that failed with a longer pause, to a cap. Never rejects. */
export async function keepConnected(
  { connect, sleep }: { connect(): Promise<HubConnection>; readonly sleep: Sleep },
  { work, wake, failed, isOver }: HubWork,
): Promise<void> {
  for (let failures = 0; !isOver(); failures++) {
    let connection: HubConnection | null = null;
    try {
      connection = await connect();
      let lost = false;
      connection.onLost(() => {
        lost = true;
        wake();
      });
      const requireLive = (): void => {
        if (lost) throw new Denied("hub_unreachable", "The connection to the hub's database was lost.");
      };
      const works = (): void => {
        failures = 0;
      };
      await work(connection, works, requireLive);
    } catch (error) {
      failed(error);
    } finally {
      await connection?.close();
    }
    // News is no reason to hurry a database that does not answer.
    if (!isOver())
      await sleep.sleep(Math.min(defaults.hubAgainMs * 2 ** Math.min(failures, 10), defaults.hubAgainCapMs));
  }
}

/** As it is told to a person. */
export function troubleOf(error: unknown): Denied {
  return error instanceof Denied ? error : new Denied("hub_unreachable", String(error).slice(0, 300));
}

/** What trying again does not mend: a person has to look first. */
export function isFinal(trouble: Denied | null): boolean {
  return trouble?.code === "hub_rolled_back" || trouble?.code === "hub_forked";
}
