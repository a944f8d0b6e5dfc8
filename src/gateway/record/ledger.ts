import type { gatewayEvents } from "../../audit/event/gateway.ts";
import type { NewEvent } from "../../audit/event.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AuditSink, IntentReceipt, StateRow, StateStore } from "../ports.ts";
import {
  hasHappened,
  type IntentStep,
  isCompletion,
  isOpening,
  type RecordStep,
  type StepPort,
  unwatched,
} from "../steps.ts";
import { splitContents } from "./content.ts";
import { createRoomLine, type RoomLine } from "./room-line.ts";
import { createRowOrder } from "./row-order.ts";

/**
 * The one place where the log and the store are written. Whatever opens something is in the store before it is in the log,
 * and whatever closes it is in the log before it is in the store: what the log shows as open, a start finds in the store
 * and ends. The first failure stops everything: what cannot be recorded is not sent, and a failed sync is never tried again.
 * Where it was the store's, the log still takes what came of a send and what happened to the gateway itself: it is ahead of
 * the store then, as after a crash between the two. A log that is full is no failure: what would begin is refused, and what
 * has happened waits for room.
 */
export interface Ledger {
  /** The intent of a send, durable before it resolves; of a side effect also against a power cut. */
  intent(
    step: IntentStep,
    events: readonly NewEvent[],
    rows: readonly StateRow[],
    sideEffect: boolean,
  ): Promise<IntentReceipt>;
  /** Events, and rows where the store is open, durable before it resolves. A function gives the rows as they are when they are kept. */
  record(
    step: RecordStep,
    events: readonly NewEvent[],
    rows?: readonly StateRow[] | (() => readonly StateRow[]),
  ): Promise<void>;
  /** What the gateway itself begins or meets: one event, and nothing in the store that would have to agree with it. */
  note(events: readonly HouseEvent[]): Promise<IntentReceipt>;
  /** The same of what has happened and cannot be taken back: where the log is full it stands in line for room, and nobody waits for that. */
  noteHappened(events: readonly HouseEvent[]): Promise<void>;
  /** Denied `log_backlogged` while something that has happened waits for room: no question is asked before it is told. */
  requireRoom(): void;
  /** Whether something that would begin would be taken now: not while the log is full or has failed, or something waits for it. */
  hasRoom(): boolean;
  /** Kept once all that waits for room now is told, or cannot be. */
  lineEmptied(): Promise<unknown>;
  openStore(store: StateStore | null): void;
  /** One row as it stands; null while locked or where there is no such row. */
  find: StateStore["find"];
  /** None while locked. */
  load: StateStore["load"];
  /** One row read and replaced in one transaction; null while locked or where there is no such row. */
  change(step: "lease.taken", ...change: Parameters<StateStore["change"]>): ReturnType<StateStore["change"]>;
  /** Called after rows of the table were kept; returns the way to stop that. */
  watch(table: StateRow["table"], listener: () => void): () => void;
  readonly stopped: boolean;
  /** Records again, after whoever calls this has made sure that log and store can. */
  resume(): void;
}

/** Everything of the gateway's own journal but what goes with a row; and who was turned away at the door. */
export type HouseEvent = Extract<
  NewEvent,
  { readonly event_type: Exclude<keyof typeof gatewayEvents, Stateful> | "caller_refused" }
>;

type Stateful =
  | "gateway_locked"
  | "recovery_finished"
  | "state_tampered"
  | "upgrade_probe_started"
  | "upgrade_probe_finished";

export interface LedgerParts {
  readonly audit: AuditSink;
  readonly sleep: Sleep;
  /** Whose log this is: what began in it is ended in it. */
  readonly worker: string;
  readonly steps?: StepPort | undefined;
  onStop(cause: unknown): void;
}

export function createLedger({ audit, sleep, worker, steps = unwatched, onStop }: LedgerParts): Ledger {
  const line = createRoomLine(audit, sleep);
  let store: StateStore | null = null;
  let stopped = false;
  /** The log itself: nothing at all is appended then. */
  let logFailed = false;
  const order = createRowOrder();
  const watchers = new Set<{ readonly table: StateRow["table"]; listener(): void }>();

  function tell(rows: readonly StateRow[]): void {
    for (const { table, listener } of [...watchers]) if (rows.some((row) => row.table === table)) listener();
  }

  /** Operations and deployments go from hand to hand; everything else ends where it began. */
  function own(row: StateRow): StateRow {
    if (row.table === "operations" || row.table === "deployments" || "worker" in row.body) return row;
    return { ...row, body: { ...row.body, worker } };
  }

  function stop(cause: unknown): Denied {
    if (!stopped) onStop(cause);
    stopped = true;
    return stoppedError();
  }

  function keep<Result>(work: Promise<Result>, inLog = false): Promise<Result> {
    return work.catch((cause: unknown) => {
      if (cause instanceof Denied && isPassing(cause)) throw cause;
      logFailed ||= inLog;
      throw stop(cause);
    });
  }

  /** A store that cannot be read is not written either. */
  function look<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (cause) {
      throw cause instanceof Denied && cause.code === "store_unreadable" ? stop(cause) : cause;
    }
  }

  function write(events: readonly NewEvent[], take: RoomLine["append"]): Promise<IntentReceipt> {
    return keep(take(events), true);
  }

  function append(events: readonly NewEvent[], take: RoomLine["append"]): Promise<IntentReceipt> {
    const { ahead, together } = splitContents(events);
    return ahead.length === 0 ? write(together, take) : appendInTurn([...ahead, together], take);
  }

  async function appendInTurn(
    parts: readonly (readonly NewEvent[])[],
    take: RoomLine["append"],
  ): Promise<IntentReceipt> {
    const [first = [], ...rest] = parts;
    let receipt = await write(first, take);
    for (const part of rest) receipt = await write(part, take);
    return receipt;
  }

  async function commit(moment: number, rows: readonly StateRow[]): Promise<void> {
    const newest = order.newest(moment, rows);
    if (store !== null && newest.length > 0) await keep(store.commit(newest.map(own), "process"));
  }

  return {
    get stopped() {
      return stopped;
    },
    resume() {
      stopped = false;
      logFailed = false;
    },
    openStore(next) {
      store = next;
    },
    find: (table, id) => look(() => store?.find(table, id) ?? null),
    load: (table, state) => look(() => store?.load(table, state) ?? []),
    async intent(step, events, rows, sideEffect) {
      if (stopped) throw stoppedError();
      if (store === null) throw new Denied("gateway_locked", "The gateway was locked before the call was sent.");
      steps.before(step);
      if (rows.length > 0) {
        const moment = order.begin();
        try {
          await keep(store.commit(order.newest(moment, rows).map(own), sideEffect ? "power" : "process"));
        } finally {
          order.end(moment);
        }
      }
      const receipt = await append(events, line.append);
      if (stopped) throw stoppedError();
      steps.after(step);
      tell(rows);
      return receipt;
    },
    async change(step, table, id, change) {
      if (stopped) throw stoppedError();
      if (store === null) return null;
      steps.before(step);
      const moment = order.begin();
      const changed = await keep(store.change(table, id, change)).finally(() => order.end(moment));
      const kept = changed === null || "tampered" in changed ? [] : [changed];
      order.newest(moment, kept);
      steps.after(step);
      tell(kept);
      return changed;
    },
    watch(table, listener) {
      const watcher = { table, listener };
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    async record(step, events, rows = []) {
      if (stopped) {
        if (isCompletion(step) && !logFailed && events.length > 0) await append(events, line.appendOnceRoom);
        throw stoppedError();
      }
      steps.before(step);
      const take = hasHappened(step) ? line.appendOnceRoom : line.append;
      if (typeof rows !== "function" && rows.length === 0) {
        if (events.length > 0) await append(events, take);
        steps.after(step);
        return;
      }
      const opening = isOpening(step);
      const late = !opening && typeof rows === "function";
      if (late && events.length > 0) await append(events, take);
      const kept = typeof rows === "function" ? rows() : rows;
      const moment = order.begin();
      try {
        if (opening) await commit(moment, kept);
        if (!late && events.length > 0) await append(events, take);
        if (!opening) await commit(moment, kept);
      } finally {
        order.end(moment);
      }
      steps.after(step);
      tell(kept);
    },
    async note(events) {
      if (stopped) throw stoppedError();
      return write(events, line.append);
    },
    async noteHappened(events) {
      if (logFailed) throw stoppedError();
      const room = line.hasRoom();
      const noted = write(events, line.appendOnceRoom);
      if (room) await noted;
      else noted.catch(() => undefined);
    },
    requireRoom: line.requireEmpty,
    hasRoom: () => !stopped && line.hasRoom(),
    lineEmptied: line.emptied,
  };
}

/** Power that is taken away is gone whatever the log could take of it, and whoever took it is told so. */
export function saysGone(what: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof Denied && error.code === "gateway_stopped")) throw error;
    throw new Denied("end_unrecorded", `${what} That could not be recorded: the gateway has stopped sending.`);
  };
}

/** A full queue is back-pressure, a row that another gateway took over is its own, a hub comes back: none is a broken disk. */
function isPassing({ code }: Denied): boolean {
  return code === "log_backlogged" || code === "operation_taken_over" || code.startsWith("hub_");
}

function stoppedError(): Denied {
  return new Denied("gateway_stopped", "The gateway could not write its log or its state and has stopped sending.");
}
