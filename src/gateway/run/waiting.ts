import { Denied } from "../../kernel/failure.ts";

/** Calls that came before a person let their session begin. Each keeps its whole request in memory, so only so many of one user wait. */
export interface Waiting {
  /** What `session` gives, or `too_many_requests` at once. */
  during<Value>(uid: number, session: () => Promise<Value>): Promise<Value>;
}

export function createWaiting(mostPerUid: number): Waiting {
  const counts = new Map<number, number>();
  return {
    async during(uid, session) {
      const count = counts.get(uid) ?? 0;
      if (count >= mostPerUid) {
        throw new Denied(
          "too_many_requests",
          `${mostPerUid} calls of user ${uid} wait for a person already. Nothing was sent; call again once the run is approved.`,
        );
      }
      counts.set(uid, count + 1);
      try {
        return await session();
      } finally {
        const left = (counts.get(uid) ?? 1) - 1;
        if (left === 0) counts.delete(uid);
        else counts.set(uid, left);
      }
    },
  };
}
