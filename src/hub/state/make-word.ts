import type { KeyObject } from "node:crypto";
import type { LimitSeal } from "../limit-rows.ts";
import { type StateStatement, signHubWith } from "../statement.ts";
import {
  addMark,
  digestOfProof,
  emptySum,
  markOf,
  placeOf,
  type SharedRow,
  type StatePlace,
  sealShared,
  sumText,
  takingProof,
} from "./rows.ts";

/** A row as the hub has it: where, and what it adds to the sum. */
interface Said {
  readonly place: string;
  readonly mark: Buffer;
}

/** What this gateway said on the hub in one term: its rows by what they are called here, and their sum. */
export interface Sayings {
  readonly rows: Map<string, Said>;
  sum: Buffer;
}

/** One word: its text is said again as it is until it is known whether the hub has it. */
export interface Word {
  readonly term: number;
  readonly tick: number;
  readonly text: string;
  readonly values: readonly unknown[];
  /** Null for what is gone with it. */
  readonly rows: ReadonlyMap<string, Said | null>;
  readonly sum: Buffer;
}

export const nothingSaid = (): Sayings => ({ rows: new Map(), sum: emptySum() });

interface Saying {
  readonly at: StatePlace;
  readonly tick: number;
  readonly seal: LimitSeal;
  readonly identity: KeyObject;
  readonly writtenAt: string;
}

/** The next word after `before`: rows as they are now, null for those that nobody has to know of any more. */
export function makeWord(
  { at, tick, seal, identity, writtenAt }: Saying,
  before: Sayings,
  rows: ReadonlyMap<string, SharedRow | null>,
): Word {
  const sum = Buffer.from(before.sum);
  const said = new Map<string, Said | null>();
  const packed: { place: string; sealed: string }[] = [];
  const gone: string[] = [];
  for (const [name, row] of rows) {
    const old = before.rows.get(name);
    if (old !== undefined) addMark(sum, old.mark);
    if (row === null) {
      if (old !== undefined) gone.push(old.place);
      said.set(name, null);
      continue;
    }
    const made = sealShared(seal, at, tick, row, old?.place ?? placeOf(seal, row));
    const mark = markOf(seal, made);
    addMark(sum, mark);
    packed.push({ place: made.place, sealed: made.sealed.toString("base64") });
    said.set(name, { place: made.place, mark });
  }
  const { hubId, vaultId, gateway, term } = at;
  const statement: StateStatement = {
    ...{ format: "gw.hub-state/v1", hub_id: hubId, gateway, vault_id: vaultId, term, tick },
    sum: sumText(seal, sum),
    written_at: writtenAt,
  };
  const { text, signature } = signHubWith(statement, identity);
  // A first word has nothing before it to take away, and says for the whole term who may take it over.
  const last = tick === 1 ? digestOfProof(takingProof(seal, at)) : gone;
  const values = [gateway, term, tick, text, signature, JSON.stringify(packed), last];
  return { term, tick, text, values, rows: said, sum };
}

/** The hub has the word: what was said is what it makes of it. The first of a term stands alone. */
export function keepWord(said: Sayings, { tick, rows, sum }: Word): void {
  if (tick === 1) said.rows.clear();
  for (const [name, row] of rows) {
    if (row === null) said.rows.delete(name);
    else said.rows.set(name, row);
  }
  said.sum = sum;
}
