import { Denied } from "../../kernel/failure.ts";
import { count } from "./book.ts";

/** Calls that came before a person let their session begin. Each keeps its whole request in memory, so only so many of one user wait. */
export interface Waiting {
  /** What `session` gives, or `too_many_requests` at once. */
  during<Value>(uid: number, session: () => Promise<Value>): Promise<Value>;
}

export function createWaiting(mostPerUid: number): Waiting {
  const counts = new Map<number, number>();
  return {
    async during(uid, session) {
      if ((counts.get(uid) ?? 0) >= mostPerUid) {
        throw new Denied(
          "too_many_requests",
          `${mostPerUid} calls of user ${uid} wait for a person already. Nothing was sent; call again once the run is approved.`,
        );
      }
      count(counts, uid, 1);
      try {
        return await session();
      } finally {
        count(counts, uid, -1);
      }
    },
  };
}
