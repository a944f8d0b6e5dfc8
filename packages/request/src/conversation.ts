import type { Denied } from "../../../src/kernel/failure.ts";

/**
 * The requests of one connection: begun one after the other, each answered once and in its turn. What follows a reply that
 * ends the connection is never begun, so that nothing is carried out whose answer could not be sent.
 */
interface Line {
  readonly unanswered: Asked[];
  tail: Promise<void> | null;
  /** A reply said that the connection ends with it. */
  over: boolean;
  /** What came after the requests that are under way can never be one: the last reply says that the connection ends. */
  ending: boolean;
  /** The newest request broke off in its body, behind others: this is its answer. */
  broken: { readonly request: Asked; readonly denied: Denied } | null;
}

/** The little of a request that says whether all of it arrived. */
export interface Asked {
  readonly complete: boolean;
}

/** What a request in its turn is told. */
export interface Turn {
  /** It will not become whole: this is what to answer. */
  readonly broken: Denied | null;
  /** Whether its reply is the last of the connection. */
  isLast(): boolean;
}

const lines = new WeakMap<object, Line>();

/** Runs `answer` when every earlier request of the connection is answered; it says whether the connection stays open. */
export function inTurn(connection: object, request: Asked, answer: (turn: Turn) => Promise<boolean>): void {
  const line = lines.get(connection) ?? openLine(connection);
  line.unanswered.push(request);
  const run = async (): Promise<void> => {
    if (!line.over) {
      const broken = line.broken?.request === request ? line.broken.denied : null;
      const isLast = (): boolean => broken !== null || (line.ending && line.unanswered.length === 1);
      line.over = !(await answer({ broken, isLast }));
    }
    line.unanswered.shift();
    if (line.unanswered.length === 0) line.tail = null;
  };
  line.tail = line.tail === null ? run() : line.tail.then(run);
}

function openLine(connection: object): Line {
  const line = { unanswered: [], tail: null, over: false, ending: false, broken: null };
  lines.set(connection, line);
  return line;
}

/** What a connection is doing when its bytes stop making sense. */
export type Doing = "nothing_known" | "idle" | "reading" | "answering";

export function doingOf(connection: object): Doing {
  const line = lines.get(connection);
  if (line === undefined) return "nothing_known";
  const [first] = line.unanswered;
  if (first === undefined) return "idle";
  return line.unanswered.length === 1 && !first.complete ? "reading" : "answering";
}

const faults = new WeakMap<object, Denied>();

/** What was wrong with the bytes of a connection, for the request that was being read then. */
export function noteFault(connection: object, denied: Denied): void {
  faults.set(connection, denied);
}

export function faultOn(connection: object): Denied | undefined {
  return faults.get(connection);
}

/** Lets what is under way be answered for what it was, and the connection end with the last reply. */
export function endAfterAnswers(connection: object, denied: Denied): void {
  const line = lines.get(connection);
  const newest = line?.unanswered.at(-1);
  if (line === undefined || newest === undefined) return;
  line.ending = true;
  if (!newest.complete) line.broken ??= { request: newest, denied };
}
