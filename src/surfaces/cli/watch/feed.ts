import type { DecisionStatement } from "../../../conventions/approval/decision.ts";
import type { Assertion } from "../../../conventions/passkey/assertion.ts";
import type { Clock, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Unreachable } from "../../client/connection.ts";
import type { OperatorClient } from "../../client/operator.ts";
import type { OperatorNews } from "../../client/reading.ts";
import type { ApprovalRecord, ApprovalView, Status } from "../../operator/answers.ts";

export type FeedEvent =
  | {
      readonly kind: "live";
      readonly guardRail: boolean;
      readonly locked: boolean;
      /** In words: what waits and could not be read with the rest. */
      readonly unread?: readonly string[] | undefined;
    }
  | { readonly kind: "lost"; readonly why: string; readonly retryInMs: number }
  | OperatorNews
  | { readonly kind: "list"; readonly views: readonly ApprovalRecord[]; readonly askedMs: number };

/** What a live screen asks of whoever has the questions: a gateway, or a hub with many. */
export type WatchClient = Pick<
  OperatorClient,
  "approvals" | "watch" | "sessions" | "operation" | "decide" | "revoke" | "askOperation" | "close"
> & {
  status(): Promise<Pick<Status, "mode" | "locked" | "uid"> & { readonly unread?: readonly string[] }>;
  extend(approval: ApprovalView, seconds: number): Promise<ApprovalRecord>;
};

/** What a page asks beside that: what would be signed is looked at before it is, and by a passkey where there is one. */
export interface PageClient extends WatchClient {
  /** The gateway is named where the question came by way of a hub. */
  approval(approvalId: string, gateway: string | null): Promise<ApprovalView>;
  draft: OperatorClient["draft"];
  /** To whoever showed the card. */
  submit(statement: DecisionStatement, assertion: Assertion | null, shown: ApprovalView): Promise<ApprovalRecord>;
  settleOperation: OperatorClient["settleOperation"];
}

export interface FeedPorts<Client extends WatchClient = WatchClient> {
  readonly clock: Pick<Clock, "bootMs">;
  readonly sleep: Sleep;
  connect(): Promise<Client>;
  tell(event: FeedEvent): void;
}

export interface Feed<Client extends WatchClient = WatchClient> {
  /** The client to ask now. Unreachable while there is none. */
  client(): Client;
  /** Resolves when the signal has ended it. */
  readonly done: Promise<void>;
}

/**
 * Keeps a connection to the gateway: a stream of news, and now and then the whole list beside it, so that neither a lost
 * event nor a gateway that went silent leaves an old screen standing. Comes back by itself, ever more slowly, to a cap.
 */
export function startFeed<Client extends WatchClient>(
  first: Client,
  ports: FeedPorts<Client>,
  signal: AbortSignal,
): Feed<Client> {
  let client: Client | null = first;
  const done = keepUp();

  async function keepUp(): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      try {
        client ??= await connect();
        await follow(client, () => {
          failures = 0;
        });
      } catch (error) {
        client?.close();
        client = null;
        if (signal.aborted) return;
        const retryInMs = Math.min(defaults.watchRetryCapMs, defaults.watchRetryFirstMs * 2 ** Math.min(failures, 10));
        failures++;
        ports.tell({ kind: "lost", why: reasonOf(error), retryInMs });
        await ports.sleep.sleep(retryInMs, signal);
      }
    }
    client?.close();
  }

  /** One that comes too late is closed: nobody would ask it. */
  async function connect(): Promise<Client> {
    const made = ports.connect();
    try {
      return await inTime(made, ports.sleep, signal);
    } catch (error) {
      made.then((late) => late.close()).catch(() => undefined);
      throw error;
    }
  }

  /** Returns only when stopped; every other end is an error. */
  async function follow(live: WatchClient, works: () => void): Promise<void> {
    const stop = new AbortController();
    const both = AbortSignal.any([signal, stop.signal]);
    const stream = async (): Promise<void> => {
      for await (const news of live.watch(both)) {
        if (!both.aborted) ports.tell(news);
      }
      if (!both.aborted) throw new Unreachable("The gateway ended the stream of news.");
    };
    const poll = async (): Promise<void> => {
      while (!both.aborted) {
        const askedMs = ports.clock.bootMs();
        const [status, views] = await inTime(Promise.all([live.status(), live.approvals()]), ports.sleep, both);
        if (both.aborted) return;
        works();
        // What the gateway says of itself lowers nothing: its user has to be another one than ours.
        const guardRail = status.mode !== "dedicated" || status.uid === process.geteuid?.();
        ports.tell({ kind: "live", guardRail, locked: status.locked, unread: status.unread });
        ports.tell({ kind: "list", views, askedMs });
        await ports.sleep.sleep(defaults.watchPollMs, both);
      }
    };
    try {
      await Promise.race([stream(), poll()].map(quiet));
    } finally {
      stop.abort();
    }
  }

  return {
    client() {
      if (client === null) throw new Unreachable("There is no connection to the gateway now.");
      return client;
    },
    done,
  };
}

/** The loser of a race may fail later; nobody waits for it then. */
function quiet(work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  return work;
}

/** A gateway that is stopped does not close its socket; silence has to end somewhere. */
export async function inTime<Result>(
  work: Promise<Result>,
  sleep: Sleep,
  signal: AbortSignal,
  limitMs: number = defaults.watchAnswerMs,
): Promise<Result> {
  const stop = new AbortController();
  const late = sleep.sleep(limitMs, AbortSignal.any([signal, stop.signal])).then(() => {
    throw new Unreachable(`The gateway did not answer for ${limitMs / 1000} s.`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    stop.abort();
    work.catch(() => undefined);
  }
}

export function reasonOf(error: unknown): string {
  if (error instanceof Denied) return `${error.code}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
