import { isoTime, Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import { isFinal, keepConnected, troubleOf } from "../keep-connected.ts";
import { HUB_SCHEMA, shortText } from "../schema.ts";
import { type CameHome, isCounted, readAdopter, tampered } from "./adopt.ts";
import { keepWord, makeWord, nothingSaid, type Word } from "./make-word.ts";
import type { RowKey, StateParts } from "./parts.ts";
import type { SharedRow } from "./rows.ts";
import { followTakenOver } from "./taken-over.ts";
import { collectUnsaid, nameOf, type Unsaid, type Waiting } from "./unsaid.ts";
import {
  away,
  BEGIN,
  forked,
  late,
  MOVE,
  notTaken,
  type RememberedTerm,
  rolledBack,
  WITHDRAWN,
  withdraw,
} from "./words.ts";

export interface StateKeeper {
  /** Resolves once these rows are on the hub, under a term that is still this gateway's. Denied otherwise: nothing may leave then. */
  put(rows: readonly SharedRow[]): Promise<void>;
  /** Denied where it is known already that nothing would be put there now. */
  requireReady(): void;
  /** They changed on this host; nobody waits. */
  touch(keys: readonly RowKey[]): void;
  /** Takes over what a silent gateway had under way. */
  adopt(gateway: string, operator: string | null): Promise<CameHome>;
  status(): { readonly term: number; readonly rows: number; readonly waiting: number; readonly trouble: Denied | null };
  /** Where nothing is shared any more, what is on the hub is taken away too, as far as it answers. */
  close(then?: "withdraw"): void;
}

/** A word, and who waits for it. */
interface Spoken extends Word {
  readonly waiting: readonly Waiting[];
}

const NOWHERE = { term: 0, tick: 0 };

/**
 * Keeps on the hub what another gateway needs in order to look after this one's operations: every intent of a side effect before
 * it leaves. This host's own state stays the truth; a term is one life of this process there.
 */
export function startState(parts: StateParts): StateKeeper {
  const { gateway, hubId, vaultId, seal, clock, sleep } = parts;
  let at: RememberedTerm = NOWHERE;
  const said = nothingSaid();
  let doubt: Spoken | null = null;
  let trouble: Denied | null = null;
  let closed = false;
  let woken = new Waker();
  let hurried = new Waker();
  let current: HubConnection | null = null;
  const recalled = parts.recall();
  // What was taken away is not missed.
  const remembered = recalled?.tick === WITHDRAWN ? null : recalled;
  const takenOver = followTakenOver(parts);
  const unsaid = collectUnsaid(parts, (isUrgent) => (isUrgent ? hurry() : woken.wake()), wait);

  function hurry(): void {
    woken.wake();
    hurried.wake();
  }

  /** One call found out that the hub does not answer: the next ones are refused, until it does. */
  function wait(): void {
    if (trouble !== null) return;
    trouble = late();
    parts.onTrouble(trouble);
  }

  function wordOf(term: number, tick: number, { rows: all, waiting }: ReturnType<Unsaid["take"]>): Spoken {
    const rows = new Map<string, SharedRow | null>(all);
    for (const row of waiting.flatMap((one) => one.rows)) rows.set(nameOf(row), row);
    unsaid.watch(rows);
    const at = { hubId, vaultId, gateway, term };
    const saying = { at, tick, seal, identity: parts.identity, writtenAt: isoTime(clock.wallMs()) };
    return { ...makeWord(saying, tick === 1 ? nothingSaid() : said, rows), waiting };
  }

  /** The hub has it: from here on it is what this gateway said there. */
  function settle(word: Spoken): void {
    keepWord(said, word);
    [at, doubt, trouble] = [{ term: word.term, tick: word.tick }, null, null];
    // Not waited for: a power cut right here may lose it, and then it is the word before that a hub must not go behind.
    if (!closed) void parts.remember(at);
    for (const { tell } of word.waiting) tell(null);
  }

  async function say(connection: HubConnection, word: Spoken, isAgain = false): Promise<void> {
    doubt = word;
    if (await hasMoved(connection, word)) return settle(word);
    // A database that keeps our words out is asked again after a pause, over another connection.
    if (isAgain) throw notTaken(gateway);
    await agree(connection, true);
  }

  /** Where the hub is. What is in doubt is resolved first; nothing is built upon what this process did not say. */
  async function agree(connection: HubConnection, isAgain = false): Promise<void> {
    const [head] = await connection.ask<{ term: string; tick: string; statement: string; taken: boolean }>(
      `select h.term, h.tick, ${shortText("h.statement")}, a.gateway is not null as taken from ${HUB_SCHEMA}.state_head h
         left join ${HUB_SCHEMA}.adoptions a on a.gateway = h.gateway and a.term = h.term
        where h.gateway = $1 order by h.term desc limit 1`,
      [gateway],
    );
    const [term, tick] = [Number(head?.term ?? 0), Number(head?.tick ?? 0)];
    if (head !== undefined && !(isCounted(term) && isCounted(tick))) throw tampered(gateway);
    const known = at.term > 0 ? at : (remembered ?? NOWHERE);
    if (doubt !== null && head?.statement === doubt.text) settle(doubt);
    else if (term < known.term || (term === known.term && tick < known.tick)) throw rolledBack(term, tick, known);
    else if (at.term > 0 && (term > at.term || tick > at.tick)) throw forked();
    if (head?.taken === true) {
      // Of a hub that was put back: what is under way now was begun later, and nobody has taken it.
      const taking = term < parts.lastTerm() ? null : await readAdopter(connection, parts, gateway, term);
      if (taking !== null) await parts.onTaken(taking.by, await takenOver.ownOf(connection, taking.along));
      refuse(
        new Denied("operation_taken_over", `${taking?.by ?? "Somebody"} took over what this gateway had under way.`),
      );
      [at, doubt] = [NOWHERE, null];
    }
    if (at.term === 0) {
      const isUnsaid = doubt !== null && doubt.tick === 1 && doubt.term > term;
      const begun = isUnsaid && doubt !== null ? doubt : beginning(Math.max(term, parts.lastTerm()) + 1);
      return say(connection, begun, isAgain);
    }
    if (doubt !== null) await say(connection, doubt, isAgain);
  }

  function beginning(term: number): Spoken {
    if (!parts.isOpen()) throw away();
    return wordOf(term, 1, unsaid.takeAll());
  }

  function nextWord(): Spoken | null {
    if (!parts.isOpen() || unsaid.size() === 0) return null;
    const news = unsaid.take((name) => said.rows.has(name));
    return news.rows.length + news.waiting.length === 0 ? null : wordOf(at.term, at.tick + 1, news);
  }

  function refuse(error: Denied): void {
    unsaid.refuse(error, doubt?.waiting ?? []);
  }

  /** What nobody waits for goes along with what somebody waits for, if that comes soon: else it would make them wait. */
  function gather(): Promise<void> {
    hurried = new Waker();
    return sleep.sleep(defaults.hubStateGatherMs, hurried);
  }

  async function work(connection: HubConnection, works: () => void, requireLive: () => void): Promise<void> {
    if (closed) return;
    current = connection;
    await agree(connection);
    await takenOver.begin(connection);
    while (!closed) {
      requireLive();
      trouble = null;
      works();
      unsaid.touchEnded();
      if (!unsaid.isUrgent() && unsaid.size() > 0) await gather();
      const word = nextWord();
      if (word !== null) {
        await say(connection, word);
        continue;
      }
      await takenOver.look(connection);
      if (!woken.aborted) await sleep.sleep(defaults.hubBeatMs, woken);
      woken = new Waker();
    }
  }

  function refusal(): Denied | null {
    if (closed) return away();
    return trouble?.code === "hub_refused" ? away() : trouble;
  }

  const ended = keepConnected(parts, {
    work,
    wake: hurry,
    failed(error) {
      const next = troubleOf(error);
      // What the database refuses may be a term that is gone: the next look tells.
      if (trouble?.code !== next.code && next.code !== "hub_refused") parts.onTrouble(next);
      trouble = next;
      refuse(next.code === "hub_refused" ? away() : next);
    },
    isOver: () => closed || isFinal(trouble),
  });

  return {
    requireReady() {
      const now = refusal();
      if (now !== null) throw now;
    },
    put(rows) {
      const now = refusal();
      return now === null ? unsaid.put(rows) : Promise.reject(now);
    },
    touch: unsaid.touch,
    async adopt(from, operator) {
      if (from === gateway)
        throw new Denied("value_not_allowed", "That is this gateway itself. Nothing was taken over.");
      const connection = await parts.connect();
      try {
        return await takenOver.adopt(connection, from, operator);
      } finally {
        await connection.close();
      }
    },
    status: () => ({
      term: at.term,
      rows: said.rows.size,
      // What is on its way is not there yet.
      waiting: unsaid.size() + (doubt?.rows.size ?? 0),
      trouble: trouble ?? takenOver.trouble(),
    }),
    close(then) {
      closed = true;
      hurry();
      refuse(away());
      void current?.close();
      if (then !== "withdraw") return;
      const term = Math.max(at.term, doubt?.term ?? 0, parts.lastTerm());
      void parts.remember({ term, tick: WITHDRAWN });
      void ended.then(() => withdraw(parts, term)).catch(() => undefined);
    },
  };
}

async function hasMoved(connection: HubConnection, { tick, values }: Word): Promise<boolean> {
  try {
    const [row] = await connection.ask<{ moved: boolean }>(
      tick === 1 ? BEGIN : MOVE,
      values,
      tick === 1 ? null : "state",
    );
    return row?.moved === true;
  } catch (error) {
    // A term that is there already may be this very word, whose answer was lost.
    if (tick === 1 && error instanceof Denied && error.code === "hub_forked") return false;
    throw error;
  }
}
