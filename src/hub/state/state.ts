import type { KeyObject } from "node:crypto";
import { rawPublicOf } from "../../audit/keys/raw.ts";
import { type Clock, isoTime, type Sleep, Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import { HUB_SCHEMA, shortText } from "../schema.ts";
import type { TermName } from "../statement.ts";
import {
  type Adopted,
  type Adopting,
  adoptTerm,
  type CameHome,
  readAdopter,
  readHolders,
  readTakings,
  readTerm,
} from "./adopt.ts";
import { keepWord, makeWord, nothingSaid, type Word } from "./make-word.ts";
import type { SharedRow } from "./rows.ts";
import { away, BEGIN, forked, MOVE, type RememberedTerm, rolledBack, withdraw } from "./words.ts";

type RowKey = Pick<SharedRow, "table" | "id">;

export interface StateParts extends Adopting {
  readonly identity: KeyObject;
  readonly clock: Clock;
  readonly sleep: Sleep;
  connect(): Promise<HubConnection>;
  recall(): RememberedTerm | null;
  /** The newest term that this host ever began on this hub, also before somebody signed for a hub that was put back. */
  lastTerm(): number;
  remember(term: RememberedTerm): Promise<void>;
  /** False once the state of this host is closed: from then on nothing is known of it. */
  isOpen(): boolean;
  /** Everything that another gateway would have to know, as it is on this host now. */
  all(): readonly SharedRow[];
  /** One row as it is now; null where nobody else has to know of it. */
  find(key: RowKey): SharedRow | null;
  /** Whether another process than this one may end it. */
  isEndedElsewhere(row: SharedRow): boolean;
  /** Another gateway took over what this one had under way, and what this one had only just taken over. Resolves once it is let go here. */
  onTaken(by: string, along: readonly TermName[]): Promise<void>;
  /** Whether what this gateway took over has arrived in its own state. */
  has(gateway: string, term: number): boolean;
  /** The gateways that have what was taken over here, as long as nobody here knows how it ended. */
  awaited(): readonly string[];
  /** What a gateway says that has what `holder` took over from here: that one, or whoever took over from there. */
  onTold(holder: string, gateway: string, rows: readonly SharedRow[]): Promise<void>;
  onAdopted(adopted: Adopted, operator: string | null): Promise<CameHome>;
  onTrouble(trouble: Denied): void;
}

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

interface Waiting {
  readonly rows: readonly SharedRow[];
  tell(error: Denied | null): void;
}

/** A word, and who waits for it. */
interface Spoken extends Word {
  readonly waiting: readonly Waiting[];
}

const FINAL: readonly string[] = ["hub_rolled_back", "hub_forked"];
const NOWHERE = { term: 0, tick: 0 };

type Named = readonly [name: string, row: SharedRow | null];
const nameOf = ({ table, id }: RowKey): string => `${table} ${id}`;

/**
 * Keeps on the hub what another gateway needs in order to look after this one's operations: every intent of a side effect before
 * it leaves. This host's own state stays the truth; a term is one life of this process there.
 */
export function startState(parts: StateParts): StateKeeper {
  const { gateway, hubId, vaultId, seal, clock, sleep } = parts;
  let at: RememberedTerm = NOWHERE;
  const said = nothingSaid();
  let doubt: Spoken | null = null;
  let queue: Waiting[] = [];
  const dirty = new Map<string, RowKey>();
  const watched = new Map<string, RowKey>();
  /** The last words of others that were looked at for how something ended. */
  const asked = new Map<string, string>();
  let lookAgainMs = 0;
  /** What is wrong with what was taken over, here or from here. */
  let beside: Denied | null = null;
  let trouble: Denied | null = null;
  let closed = false;
  let woken = new Waker();
  let hurried = new Waker();
  let current: HubConnection | null = null;
  const remembered = parts.recall();

  function wordOf(term: number, tick: number, all: readonly Named[], waiting: readonly Waiting[]): Spoken {
    const rows = new Map<string, SharedRow | null>(all);
    for (const row of waiting.flatMap((one) => one.rows)) rows.set(nameOf(row), row);
    for (const [name, row] of rows) if (row !== null && parts.isEndedElsewhere(row)) watched.set(name, row);
    const at = { hubId, vaultId, gateway, term };
    const saying = { at, tick, seal, identity: parts.identity, writtenAt: isoTime(clock.wallMs()) };
    return { ...makeWord(saying, tick === 1 ? nothingSaid() : said, rows), waiting };
  }

  /** The hub has it: from here on it is what this gateway said there. */
  function settle(word: Spoken): void {
    keepWord(said, word);
    [at, doubt, trouble] = [{ term: word.term, tick: word.tick }, null, null];
    // Not waited for: a power cut right here may lose it, and then it is the word before that a hub must not go behind.
    void parts.remember(at);
    for (const { tell } of word.waiting) tell(null);
  }

  async function say(connection: HubConnection, word: Spoken): Promise<void> {
    doubt = word;
    if (await hasMoved(connection, word)) settle(word);
    else await agree(connection);
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

  /** Where the hub is. What is in doubt is resolved first; nothing is built upon what this process did not say. */
  async function agree(connection: HubConnection): Promise<void> {
    const [head] = await connection.ask<{ term: string; tick: string; statement: string; taken: boolean }>(
      `select h.term, h.tick, ${shortText("h.statement")}, a.gateway is not null as taken from ${HUB_SCHEMA}.state_head h
         left join ${HUB_SCHEMA}.adoptions a on a.gateway = h.gateway and a.term = h.term
        where h.gateway = $1 order by h.term desc limit 1`,
      [gateway],
    );
    const [term, tick] = [Number(head?.term ?? 0), Number(head?.tick ?? 0)];
    const known = at.term > 0 ? at : (remembered ?? NOWHERE);
    if (doubt !== null && head?.statement === doubt.text) settle(doubt);
    else if (term < known.term || (term === known.term && tick < known.tick)) throw rolledBack(term, tick, known);
    else if (at.term > 0 && (term > at.term || tick > at.tick)) throw forked();
    if (head?.taken === true) {
      // Of a hub that was put back: what is under way now was begun later, and nobody has taken it.
      const taking = term < parts.lastTerm() ? null : await readAdopter(connection, parts, gateway, term);
      if (taking !== null) await parts.onTaken(taking.by, await ownOf(connection, taking.along));
      refuse(
        new Denied("operation_taken_over", `${taking?.by ?? "Somebody"} took over what this gateway had under way.`),
      );
      [at, doubt] = [NOWHERE, null];
    }
    if (at.term === 0) {
      const unsaid = doubt !== null && doubt.tick === 1 && doubt.term > term;
      return say(connection, unsaid && doubt !== null ? doubt : beginning(Math.max(term, parts.lastTerm()) + 1));
    }
    if (doubt !== null) await say(connection, doubt);
  }

  function beginning(term: number): Spoken {
    if (!parts.isOpen()) throw away();
    const all = parts.all().map((row): Named => [nameOf(row), row]);
    dirty.clear();
    return wordOf(term, 1, all, queue.splice(0));
  }

  function nextWord(): Spoken | null {
    if (!parts.isOpen() || (queue.length === 0 && dirty.size === 0)) return null;
    const changed = [...dirty]
      .map(([name, key]): Named => [name, parts.find(key)])
      .filter(([name, row]) => row !== null || said.rows.has(name));
    dirty.clear();
    const waiting = queue.splice(0);
    return changed.length + waiting.length === 0 ? null : wordOf(at.term, at.tick + 1, changed, waiting);
  }

  function refuse(error: Denied): void {
    const waiting = [...queue.splice(0), ...(doubt?.waiting ?? [])];
    for (const { rows, tell } of waiting) {
      touch(rows);
      tell(error);
    }
  }

  function touch(keys: readonly RowKey[]): void {
    for (const { table, id } of keys) dirty.set(nameOf({ table, id }), { table, id });
    woken.wake();
  }

  function touchEnded(): void {
    for (const [name, key] of watched) {
      if (!parts.isOpen() || parts.find(key) !== null) continue;
      watched.delete(name);
      touch([key]);
    }
  }

  const ownTakings = (connection: HubConnection) =>
    readTakings(connection, parts, gateway, rawPublicOf("ed25519", parts.identity));

  /** Of what somebody says to have taken along, what was this gateway's to bring home. */
  async function ownOf(connection: HubConnection, along: readonly TermName[]): Promise<readonly TermName[]> {
    const own = await ownTakings(connection);
    return own.filter((one) => along.some(({ gateway: from, term }) => from === one.gateway && term === one.term));
  }

  /** What this process, or one before it, took over and had not yet brought home. */
  async function bringHome(connection: HubConnection): Promise<Denied | null> {
    let wrong: Denied | null = null;
    for (const taking of await ownTakings(connection)) {
      if (parts.has(taking.gateway, taking.term)) continue;
      try {
        const adopted = await readTerm(connection, parts, taking);
        if (adopted !== null) await home(adopted, null);
      } catch (error) {
        wrong = besideWork(error);
      }
    }
    return wrong;
  }

  /** How that ended which another gateway took over. */
  async function learnEndings(connection: HubConnection): Promise<Denied | null> {
    let wrong: Denied | null = null;
    for (const name of parts.awaited()) {
      try {
        for await (const { gateway: by, rows } of readHolders(connection, parts, name, asked))
          await parts.onTold(name, by, rows);
      } catch (error) {
        wrong = besideWork(error);
      }
    }
    return wrong;
  }

  /** What this gateway had taken over already, with a word whose answer was lost, and does not have. */
  async function ownWord(connection: HubConnection, from: string, error: unknown): Promise<Adopted | null> {
    const isTaken = error instanceof Denied && error.code === "operation_taken_over";
    const own = isTaken ? await ownTakings(connection) : [];
    const taking = own.find((one) => one.gateway === from && !parts.has(from, one.term));
    if (taking === undefined) throw error;
    return await readTerm(connection, parts, taking);
  }

  /** What is wrong with what others had waits for a person; this gateway's own work does not. */
  function besideWork(error: unknown): Denied {
    if (error instanceof Denied && error.code === "hub_unreachable") throw error;
    return error instanceof Denied ? error : new Denied("hub_state_tampered", String(error).slice(0, 300));
  }

  function tellBeside(wrong: Denied | null): void {
    if (wrong !== null && wrong.message !== beside?.message) parts.onTrouble(wrong);
    beside = wrong;
  }

  /** Once a beat, as long as there is something to look for. */
  async function lookBeside(connection: HubConnection): Promise<void> {
    if (clock.bootMs() < lookAgainMs) return;
    lookAgainMs = clock.bootMs() + defaults.hubBeatMs;
    const wrong = beside === null ? null : await bringHome(connection);
    tellBeside((await learnEndings(connection)) ?? wrong);
  }

  /** What went along comes first: what was taken over itself says that all of it has arrived. */
  async function home({ along, ...adopted }: Adopted, operator: string | null): Promise<CameHome> {
    let [operations, deployments, minted] = [0, 0, 0];
    for (const one of [...along, adopted]) {
      const came = await parts.onAdopted({ ...one, along: [] }, operator);
      operations += came.operations;
      deployments += came.deployments;
      minted += came.minted;
    }
    return { operations, deployments, minted };
  }

  /** What nobody waits for goes along with what somebody waits for, if that comes soon: else it would make them wait. */
  function gather(): Promise<void> {
    hurried = new Waker();
    return sleep.sleep(defaults.hubStateGatherMs, hurried);
  }

  async function work(connection: HubConnection, lost: Waker): Promise<void> {
    await agree(connection);
    tellBeside(await bringHome(connection));
    [lookAgainMs] = [0];
    asked.clear();
    while (!closed) {
      // Made anew before anybody needs it.
      if (lost.aborted) throw new Denied("hub_unreachable", "The connection to the hub's database was lost.");
      trouble = null;
      touchEnded();
      if (queue.length === 0 && dirty.size > 0) await gather();
      const word = nextWord();
      if (word !== null) {
        await say(connection, word);
        continue;
      }
      await lookBeside(connection);
      if (!woken.aborted) await sleep.sleep(defaults.hubBeatMs, woken);
      woken = new Waker();
    }
  }

  async function run(): Promise<void> {
    for (let failures = 0; !closed; failures++) {
      let connection: HubConnection | null = null;
      try {
        connection = await parts.connect();
        const lost = new Waker();
        connection.onLost(() => {
          lost.wake();
          woken.wake();
        });
        current = connection;
        await work(connection, lost);
      } catch (error) {
        const next = error instanceof Denied ? error : new Denied("hub_unreachable", String(error).slice(0, 300));
        // What the database refuses may be a term that is gone: the next look tells.
        if (trouble?.code !== next.code && next.code !== "hub_refused") parts.onTrouble(next);
        if (at.term > 0 && trouble === null) failures = 0;
        trouble = next;
        refuse(next.code === "hub_refused" ? away() : next);
      } finally {
        current = null;
        await connection?.close();
      }
      if (closed || FINAL.includes(trouble?.code ?? "")) return;
      await sleep.sleep(Math.min(defaults.hubAgainMs * 2 ** Math.min(failures, 10), defaults.hubAgainCapMs));
    }
  }

  function refusal(): Denied | null {
    if (closed) return away();
    return trouble?.code === "hub_refused" ? away() : trouble;
  }

  void run();

  return {
    requireReady() {
      const now = refusal();
      if (now !== null) throw now;
    },
    put(rows) {
      const now = refusal();
      if (now !== null) return Promise.reject(now);
      return new Promise((resolve, reject) => {
        const stop = new Waker();
        const waiting: Waiting = {
          rows,
          tell(error) {
            stop.wake();
            if (error === null) resolve();
            else reject(error);
          },
        };
        queue.push(waiting);
        woken.wake();
        hurried.wake();
        void sleep.sleep(defaults.hubWaitMs, stop).then(() => {
          if (stop.aborted) return;
          queue = queue.filter((one) => one !== waiting);
          touch(rows);
          reject(away());
        });
      });
    },
    touch,
    async adopt(from, operator) {
      if (from === gateway)
        throw new Denied("value_not_allowed", "That is this gateway itself. Nothing was taken over.");
      const connection = await parts.connect();
      try {
        const adopted = await adoptTerm(connection, parts, from).catch((error) => ownWord(connection, from, error));
        return adopted === null ? { operations: 0, deployments: 0, minted: 0 } : await home(adopted, operator);
      } finally {
        await connection.close();
      }
    },
    status: () => ({
      term: at.term,
      rows: said.rows.size,
      waiting: queue.length + dirty.size,
      trouble: trouble ?? beside,
    }),
    close(then) {
      closed = true;
      woken.wake();
      hurried.wake();
      refuse(away());
      void current?.close();
      if (then === "withdraw") void withdraw(parts).catch(() => undefined);
    },
  };
}
