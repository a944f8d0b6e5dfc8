import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";

/** What is used of a connection and of the reply to one of its requests. */
interface Connection {
  readonly destroyed: boolean;
  destroy(): unknown;
}
interface Reply {
  once(event: "close", hear: () => void): unknown;
}

/**
 * Each request that waits behind another of its connection costs memory, and the first may wait long: whoever sends more than so
 * many is let go. Says whether this one may be served; `idle` hears that the connection has none left to answer.
 */
export function boundUnanswered<On extends Connection>(
  onRefused: (connection: On, denied: Denied) => void,
  idle: (connection: On) => void = () => undefined,
): (connection: On, reply: Reply) => boolean {
  const most = defaults.planeUnanswered;
  const unanswered = new WeakMap<On, { count: number }>();
  return (connection, reply) => {
    let waiting = unanswered.get(connection);
    if (waiting === undefined) {
      waiting = { count: 0 };
      unanswered.set(connection, waiting);
    }
    const of = waiting;
    if (of.count >= most) {
      // What stood behind it in the same piece is told of no more.
      if (connection.destroyed) return false;
      onRefused(
        connection,
        new Denied("too_many_requests", `More than ${most} requests of one connection were unanswered.`),
      );
      connection.destroy();
      return false;
    }
    of.count++;
    reply.once("close", () => {
      of.count--;
      if (of.count === 0) idle(connection);
    });
    return true;
  };
}
