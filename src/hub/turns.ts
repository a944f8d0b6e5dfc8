import type { KeyObject } from "node:crypto";
import type { Clock, Random, Sleep } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import type { Denied } from "../kernel/failure.ts";
import { createAsker } from "./asker.ts";
import type { HubConnection } from "./connect.ts";
import { HUB_CHANNEL, HUB_SCHEMA, shortBytes, shortText } from "./schema.ts";
import {
  compareSecrets,
  isAddedBy,
  isGeneration,
  readTurn,
  type SecretName,
  signTurn,
  type Turn,
  type TurnPlace,
  type TurnRow,
  turnAbout,
} from "./turn-rows.ts";
import { behind, busy, ended, forked, notBegun, notForUs, putBack, stuck, tampered } from "./turn-words.ts";

/** What this host remembers of the last word that it saw, so that it knows a hub that was put back. */
export interface SeenTurn {
  readonly generation: number;
  readonly digest: string;
  readonly of: SecretName;
}

export interface TurnParts {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  readonly identity: KeyObject;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  connect(): Promise<HubConnection>;
  /** A name for the credential that tells the database nothing. */
  hide(label: string): string;
  /** To the gateways that may lend it, and to nobody else. */
  seal(label: string, about: string, plain: Buffer): Buffer;
  /** Undefined for what is not for this gateway. */
  open(label: string, about: string, sealed: Buffer): Buffer | undefined;
  /** The key that signs for a gateway which may lend it; null where there is none. */
  speakerOf(label: string, gateway: string): Buffer | null;
  recall(label: string): SeenTurn | null;
  remember(label: string, seen: SeenTurn): Promise<void>;
  /** Whose turn this process has now: also one that it took before it joined anew. */
  readonly taken: Set<string>;
  /** What this host kept of a turn of its own that nobody ended: what it got in it, and whether anything may have left. */
  left(label: string, turn: Turn): { readonly refreshToken: string | null; readonly maybeUsed: boolean };
}

/** What somebody wants a turn for. */
export interface TurnAsk {
  readonly of: SecretName;
  /** Nobody has had a turn yet: an operator says so, or this gateway has used the credential alone. */
  readonly begins: boolean;
  /** The refresh token that this gateway got while it was alone; null for the one that is sealed in the vault. */
  readonly own: string | null;
}

/** Ours alone, until it is ended. */
export interface OwnTurn {
  readonly generation: number;
  /** Null for the one that is sealed in the vault. */
  readonly refreshToken: string | null;
  /** Another turn was cut off before: what stands here may have been used. */
  readonly afterCut: boolean;
  /** With the refresh token that is the newest now. On the hub when it resolves. */
  end(refreshToken: string | null, state?: "free" | "ended"): Promise<void>;
}

export interface TurnKeeper {
  take(label: string, ask: TurnAsk): Promise<OwnTurn>;
  /** Sees what the others said, and ends what an earlier life of this gateway left open. */
  follow(all: readonly { readonly label: string; readonly of: SecretName }[]): Promise<void>;
  close(): void;
}

interface Last {
  readonly turn: Turn | null;
  /** Its number as the row has it, whoever wrote that: no login of the hub is kept from a number that nobody counts to. */
  readonly generation: string;
}

const LOOK = `select generation, ${shortText("statement")}, ${shortBytes("signature")}, substring(sealed from 1 for ${defaults.hubTurnBytes}) as sealed
  from ${HUB_SCHEMA}.turns where vault = $1 and place = $2`;

/** The next word follows the one before and no other: of two gateways that take a turn at once, one looks again. */
const MOVE = `with moved as (
  insert into ${HUB_SCHEMA}.turns as t (vault, place, generation, gateway, statement, signature, sealed)
  select $1, $2, $3::bigint, $4, $5, $6, $7
   where $8::bigint = 0 or exists (select from ${HUB_SCHEMA}.turns where vault = $1 and place = $2)
  on conflict (vault, place) do update
     set generation = $3::bigint, gateway = $4, at = clock_timestamp(), statement = $5, signature = $6, sealed = $7
   where t.generation = $8::bigint
  returning 1
), told as (select pg_notify('${HUB_CHANNEL}', 'turn') from moved)
select exists (select from moved) as moved, (select count(*) from told) as told`;

/**
 * A refresh token that its provider replaces with every use is used by one gateway at a time. Whoever uses it takes the turn first,
 * with a word that follows the last one; no clock ends a turn, since nobody else can know whether the token has left already.
 */
export function startTurns(parts: TurnParts): TurnKeeper {
  const { hubId, gateway, vaultId, clock, sleep, random, taken } = parts;
  const { ask, close } = createAsker(parts, {
    over: "This gateway is no longer on this hub, which has the newest refresh token. Nothing was sent.",
    late: "The hub did not answer in time, and the refresh token is used by turns there. Nothing was sent with it. A token that is still good goes on; try again when gw status shows the hub.",
  });

  const placeOf = (label: string): TurnPlace => ({ hubId, vaultId, place: parts.hide(label) });

  /** The last word, and its number. What was said of an earlier secret of the label keeps nobody from beginning with a new one. */
  async function look(label: string, of: SecretName, begins: boolean): Promise<Last> {
    const place = placeOf(label);
    const [row] = await ask<TurnRow>(LOOK, [vaultId, place.place]);
    const recalled = parts.recall(label);
    const isTold = isAddedBy(clock.wallMs(), of);
    const seen = recalled !== null && isTold(recalled.of) ? recalled : null;
    const anew = seen === null || compareSecrets(seen.of, of) < 0;
    if (row === undefined) {
      if (!anew) throw putBack(label);
      return { turn: null, generation: "0" };
    }
    const turn = readTurn(row, place, (name) => parts.speakerOf(label, name), seen?.digest ?? null, isTold);
    if (turn === undefined) {
      if (begins && anew && recalled !== null) return { turn: null, generation: row.generation };
      throw tampered(label);
    }
    const { generation, digest } = turn;
    const since = seen === null ? 1 : compareSecrets(turn.of, seen.of) || generation - seen.generation;
    if (!anew && (since < 0 || (since === 0 && digest !== seen.digest))) throw putBack(label);
    // Of a secret that our vault does not have yet nothing is remembered: who signed for it may leave, and then it is nobody's word.
    if (since > 0 && compareSecrets(turn.of, of) <= 0) await parts.remember(label, { generation, digest, of: turn.of });
    return { turn, generation: row.generation };
  }

  /** Null where somebody else spoke first. With `said`, each word that was sent is known again, also where no answer came. */
  async function say(
    label: string,
    after: Last,
    word: Pick<Turn, "state" | "cut" | "of">,
    refreshToken: string | null,
    said?: Set<string>,
  ): Promise<Turn | null> {
    const place = placeOf(label);
    const goesOn = after.turn !== null && compareSecrets(after.turn.of, word.of) === 0;
    const generation = goesOn ? after.turn.generation + 1 : anewAfter(after.generation);
    const plain = Buffer.from(JSON.stringify({ refresh_token: refreshToken }), "utf8");
    const sealed = parts.seal(label, turnAbout(place, generation), plain);
    plain.fill(0);
    const { text, signature, turn } = signTurn(place, { ...word, generation, gateway, sealed }, parts.identity);
    const values = [vaultId, place.place, generation, gateway, text, signature, sealed, after.generation];
    const { digest, of } = turn;
    said?.add(digest);
    const [row] = await ask<{ moved: boolean }>(MOVE, values);
    if (row?.moved !== true) return null;
    await parts.remember(label, { generation, digest, of });
    return turn;
  }

  /** Ours from before it is said: whoever sees our word meanwhile shall not take it for one that an earlier life left. */
  async function begin(label: string, after: Last, word: Pick<Turn, "cut" | "of">, refreshToken: string | null) {
    taken.add(label);
    let mine: Turn | null = null;
    try {
      mine = await say(label, after, { ...word, state: "taken" }, refreshToken);
    } finally {
      if (mine === null) taken.delete(label);
    }
    return mine;
  }

  function tokenIn(label: string, { sealed, generation, gateway: by }: Turn): string | null {
    const plain = parts.open(label, turnAbout(placeOf(label), generation), sealed);
    if (plain === undefined) throw notForUs(label, by);
    const token = readToken(plain);
    plain.fill(0);
    // A gateway that may lend it put it there, and may be somebody else's by now.
    if (token === undefined) throw tampered(label);
    return token;
  }

  /** Before the next look. Each answer has a bound of its own; where all come in time and nothing moves, it is this one. */
  async function pause(untilMs: number, late: Denied): Promise<void> {
    if (clock.bootMs() >= untilMs) throw late;
    await sleep.sleep(defaults.hubTurnLookMs + ((random.bytes(1)[0] ?? 0) % defaults.hubLimitSpreadMs));
  }

  /** The last word. A turn that an earlier life of this gateway left open is ended by what that life wrote down. */
  async function settled(label: string, of: SecretName, begins: boolean, untilMs: number): Promise<Last> {
    for (; ; await pause(untilMs, stuck(label))) {
      const last = await look(label, of, begins);
      const { turn } = last;
      if (turn?.state !== "taken" || turn.gateway !== gateway || taken.has(label)) return last;
      const { refreshToken, maybeUsed } = parts.left(label, turn);
      const cut = refreshToken === null && (maybeUsed || turn.cut);
      const word = { state: "free", cut, of: turn.of } as const;
      const next = await say(label, last, word, refreshToken ?? tokenIn(label, turn));
      if (next !== null) return lastOf(next);
    }
  }

  async function end(label: string, mine: Turn, refreshToken: string | null, state: "free" | "ended"): Promise<void> {
    const { of } = mine;
    const word = { state, cut: false, of };
    const said = new Set<string>();
    const isSaid = (now: Turn | null): boolean => now !== null && said.has(now.digest);
    try {
      let moved: Turn | null;
      try {
        moved = await say(label, lastOf(mine), word, refreshToken, said);
      } catch {
        // Whether it was written is not known: what is there tells.
        const { turn: now } = await look(label, of, false);
        moved = isSaid(now) ? now : await say(label, lastOf(mine), word, refreshToken, said);
      }
      if (moved !== null) return;
      const { turn: now } = await look(label, of, false);
      // The first was on its way all the time, and came to be written while the second waited for it.
      if (isSaid(now)) return;
      // Somebody began with a newer secret meanwhile: what came of this one counts for nobody.
      if (now === null || compareSecrets(now.of, of) <= 0) throw forked(label);
    } finally {
      taken.delete(label);
    }
  }

  return {
    async take(label, { of, begins, own }) {
      const untilMs = clock.bootMs() + defaults.hubTurnMs;
      for (;;) {
        const last = await settled(label, of, begins, untilMs);
        const { turn } = last;
        if (turn === null && !begins) throw notBegun(label);
        const order = turn === null ? -1 : compareSecrets(turn.of, of);
        if (order > 0) throw behind(label);
        const current = order === 0 ? turn : null;
        if (current?.state === "ended") throw ended(label);
        if (current?.state !== "taken") {
          const refreshToken = current === null ? (turn === null ? own : null) : tokenIn(label, current);
          const cut = current?.cut ?? false;
          const mine = await begin(label, last, { cut, of }, refreshToken);
          if (mine !== null) {
            const { generation } = mine;
            const over = (newest: string | null, state: "free" | "ended" = "free") => end(label, mine, newest, state);
            return { generation, refreshToken, afterCut: cut, end: over };
          }
        }
        await pause(untilMs, current?.state === "taken" ? busy(label, current.gateway) : stuck(label));
      }
    },
    async follow(all) {
      for (const { label, of } of all) await settled(label, of, false, clock.bootMs() + defaults.hubTurnMs);
    },
    close,
  };
}

function lastOf(turn: Turn): Last {
  return { turn, generation: String(turn.generation) };
}

/**
 * With a new secret it goes on from whatever number stands there, and begins anew where that is none, or one from which nobody would count
 * for long. Whoever saw an earlier secret goes by the secret first.
 */
function anewAfter(generation: string): number {
  const last = Number(generation);
  return last === 0 || (isGeneration(last) && last < MOST_GONE_ON_FROM) ? last + 1 : 1;
}

/** No gateways come that far by counting. */
const MOST_GONE_ON_FROM = 2 ** 52;

function readToken(plain: Buffer): string | null | undefined {
  try {
    const { refresh_token: token } = JSON.parse(plain.toString("utf8")) as { readonly refresh_token?: unknown };
    return token === null || typeof token === "string" ? token : undefined;
  } catch {
    return undefined;
  }
}
