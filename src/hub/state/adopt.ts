import type { KeyObject } from "node:crypto";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import type { LimitSeal } from "../limit-rows.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "../schema.ts";
import { ENROLMENT_COLUMNS, type EnrolmentRow, type Speaker, speakerOf } from "../speaker.ts";
import {
  type AdoptionStatement,
  readHubStatement,
  type StateStatement,
  signHubWith,
  type TermName,
} from "../statement.ts";
import {
  addMark,
  digestOfProof,
  emptySum,
  markOf,
  openShared,
  type SealedRow,
  type SharedRow,
  sumText,
  takingProof,
} from "./rows.ts";

/** Who takes over, and whom it believes. */
export interface Adopting {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  readonly identity: KeyObject;
  readonly seal: LimitSeal;
  /** The keys of the operators, raw: whose word on who is a gateway counts. */
  operators(): readonly Buffer[];
  /** Whether rows of a gateway say that what it took over had arrived in its own state. */
  isHome(rows: readonly SharedRow[], taken: TermName): boolean;
  /** Denied where they are not of the kinds that a gateway writes. Who sealed them may be owned by somebody else. */
  requireReadable(gateway: string, rows: readonly SharedRow[]): void;
}

/** What a gateway had under way when it was last heard of. */
export interface Adopted {
  readonly gateway: string;
  readonly term: number;
  readonly rows: readonly SharedRow[];
  /** How far the other's clock was ahead of the database's when it wrote its last word. */
  readonly aheadMs: number;
  /** The database's clock now. */
  readonly nowMs: number;
  /** What that gateway had taken over itself, and died before it was in its own state. */
  readonly along: readonly Adopted[];
}

/** How much came home of it: by kind. */
export interface CameHome {
  readonly operations: number;
  readonly deployments: number;
  readonly minted: number;
}

/** An adoption that the gateway which it names has signed. */
export interface Taking extends TermName {
  readonly by: string;
  readonly along: readonly TermName[];
}

interface HeadRow extends EnrolmentRow {
  readonly term: string | null;
  readonly tick: string;
  readonly statement: string;
  readonly signature: Buffer;
  readonly proof_digest: Buffer | null;
  readonly seen_ms: number;
  readonly now_ms: number;
  readonly silent_ms: number | null;
  readonly gone: boolean;
}

const LOOK = `select ${ENROLMENT_COLUMNS}, h.term, h.tick,
    ${shortText("h.statement")}, ${shortBytes("h.signature")}, ${shortBytes("h.proof_digest")},
    extract(epoch from h.seen_at)::float8 * 1000 as seen_ms, extract(epoch from clock_timestamp())::float8 * 1000 as now_ms,
    extract(epoch from clock_timestamp() - l.seen_at)::float8 * 1000 as silent_ms, g.leave is not null as gone
  from ${HUB_SCHEMA}.gateways g
  left join ${HUB_SCHEMA}.log_head l on l.gateway = g.name
  left join ${HUB_SCHEMA}.state_head h on h.gateway = g.name and ($2::bigint is null or h.term = $2::bigint)
  where g.name = $1 order by h.term desc nulls last limit 1`;

/**
 * The head of a silent gateway is referred to as it was read: were it to move meanwhile, the database refuses this; from here on it
 * refuses to move it. So of all who try, and of the other itself, exactly one goes on.
 */
export async function adoptTerm(connection: HubConnection, by: Adopting, gateway: string): Promise<Adopted | null> {
  const { head, speaker } = await look(connection, by, gateway, null);
  if (head.silent_ms !== null && head.silent_ms < defaults.hubSilentMs && !head.gone) throw alive(gateway);
  if (head.term === null) return null;
  const own = await readRows(connection, by, head, speaker);
  const along = await leftOver(connection, by, own, speaker);
  const adopted = { ...own, along: await readAll(connection, by, along) };
  const statement: AdoptionStatement = {
    ...{ format: "gw.hub-adoption/v1", hub_id: by.hubId, vault_id: by.vaultId, gateway },
    ...{ term: adopted.term, tick: Number(head.tick), by: by.gateway, along },
  };
  const { text, signature } = signHubWith(statement, by.identity);
  const proof = takingProof(by.seal, { ...by, gateway, term: adopted.term });
  if (head.proof_digest !== null && !head.proof_digest.equals(digestOfProof(proof))) throw tampered(gateway);
  try {
    await connection.ask(
      `insert into ${HUB_SCHEMA}.adoptions (gateway, term, tick, by, statement, signature, proof) values ($1, $2, $3, $4, $5, $6, $7)`,
      [gateway, statement.term, statement.tick, by.gateway, text, signature, proof],
    );
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    if (error.code === "hub_refused") throw alive(gateway);
    if (error.code !== "hub_forked") throw error;
    const other = await readAdopter(connection, by, gateway, adopted.term);
    const who = other?.by ?? "Another gateway";
    throw new Denied(
      "operation_taken_over",
      who === by.gateway
        ? "This gateway has taken that over already. See gw operation list"
        : `${who} has taken that over already. If ${who} is gone too, take over what it had: gw operation adopt ${other?.by ?? "NAME"}`,
    );
  }
  return adopted;
}

/** What was taken over, once more; null where it is not there any more. */
export async function readTerm(connection: HubConnection, by: Adopting, taking: Taking): Promise<Adopted | null> {
  const { head, speaker } = await look(connection, by, taking.gateway, taking.term);
  if (head.term === null) return null;
  const own = await readRows(connection, by, head, speaker);
  return { ...own, along: await readAll(connection, by, taking.along) };
}

/** Who took a term over, if a gateway of this vault signed that; null for what nobody has to believe. */
export async function readAdopter(
  connection: HubConnection,
  by: Adopting,
  gateway: string,
  term: number,
): Promise<Taking | null> {
  const [row] = await connection.ask<EnrolmentRow & { readonly statement: string; readonly signature: Buffer }>(
    `select ${ENROLMENT_COLUMNS}, ${shortText("a.statement")}, ${shortBytes("a.signature")}
       from ${HUB_SCHEMA}.adoptions a join ${HUB_SCHEMA}.gateways g on g.name = a.by where a.gateway = $1 and a.term = $2`,
    [gateway, term],
  );
  const speaker = row === undefined ? undefined : speakerOf(row, by.hubId, by.operators());
  if (row === undefined || speaker?.vaultId !== by.vaultId) return null;
  const taking = readTaking(row, by, speaker.gateway, speaker.identityKey);
  return taking?.gateway === gateway && taking.term === term ? taking : null;
}

/** What a gateway took over, by its own signature: a row that somebody else put there in its name is none. */
export async function readTakings(
  connection: HubConnection,
  by: Pick<Adopting, "hubId" | "vaultId">,
  gateway: string,
  identityKey: Buffer,
): Promise<readonly Taking[]> {
  const rows = await connection.ask<{ readonly statement: string; readonly signature: Buffer }>(
    `select ${shortText("a.statement")}, ${shortBytes("a.signature")} from ${HUB_SCHEMA}.adoptions a where a.by = $1
      order by a.gateway, a.term limit ${defaults.hubGateways}`,
    [gateway],
  );
  return rows.flatMap((row) => readTaking(row, by, gateway, identityKey) ?? []);
}

function readTaking(
  { statement: text, signature }: { readonly statement: string; readonly signature: Buffer },
  { hubId, vaultId }: Pick<Adopting, "hubId" | "vaultId">,
  gateway: string,
  identityKey: Buffer,
): Taking | null {
  const said = readHubStatement<AdoptionStatement>({ text, signature }, "gw.hub-adoption/v1", identityKey);
  if (said?.hub_id !== hubId || said.vault_id !== vaultId || said.by !== gateway) return null;
  // A gateway may be owned by somebody else, and signs whatever they like.
  const taken: unknown = said;
  if (!isTermName(taken) || !Array.isArray(said.along) || said.along.length > defaults.hubTermsAlong) return null;
  if (!said.along.every(isTermName)) return null;
  const along = said.along.map(({ gateway: from, term }) => ({ gateway: from, term }));
  return { gateway: taken.gateway, term: taken.term, by: gateway, along };
}

function isTermName(value: unknown): value is TermName {
  const { gateway, term } = (value ?? {}) as { readonly [Name in keyof TermName]?: unknown };
  return typeof gateway === "string" && isCounted(term);
}

/** Terms and words are counted from 1. */
export function isCounted(number: unknown): number is number {
  return typeof number === "number" && Number.isSafeInteger(number) && number > 0;
}

/**
 * What gateways say now that may have what this one was overtaken of: `first`, and whoever signed to have taken over from there. Those
 * whose last word was looked at before are left out; one counts as looked at once the caller goes on to the next.
 */
export async function* readHolders(
  connection: HubConnection,
  by: Adopting,
  first: string,
  seen: Map<string, string>,
): AsyncGenerator<Adopted, void, undefined> {
  const names = [first];
  for (let at = 0; at < Math.min(names.length, defaults.hubTermsAlong); at++) {
    const name = names[at] ?? "";
    const { head, speaker } = await look(connection, by, name, null);
    const word = `${head.term} ${head.tick}`;
    if (head.term !== null && seen.get(`${first} ${name}`) !== word) {
      const rows = await readRows(connection, by, head, speaker).catch(unlessAlive);
      if (rows === null) continue;
      yield rows;
      seen.set(`${first} ${name}`, word);
    }
    const terms = await connection.ask<{ term: string }>(
      `select a.term from ${HUB_SCHEMA}.adoptions a where a.gateway = $1 order by a.term desc limit ${defaults.hubTermsAlong}`,
      [name],
    );
    for (const { term } of terms) {
      const taker = (await readAdopter(connection, by, name, Number(term)))?.by;
      if (taker !== undefined && taker !== by.gateway && !names.includes(taker)) names.push(taker);
    }
  }
}

/** What it took over and its rows do not have: with everything that went along then. */
async function leftOver(
  connection: HubConnection,
  by: Adopting,
  { rows }: Pick<Adopted, "rows">,
  { gateway, identityKey }: Speaker,
): Promise<readonly TermName[]> {
  const takings = await readTakings(connection, by, gateway, identityKey);
  const open = takings.filter((taking) => !by.isHome(rows, taking));
  return open
    .flatMap(({ gateway: from, term, along }) => [{ gateway: from, term }, ...along])
    .slice(0, defaults.hubTermsAlong);
}

async function readAll(connection: HubConnection, by: Adopting, terms: readonly TermName[]): Promise<Adopted[]> {
  const all: Adopted[] = [];
  for (const { gateway, term } of terms) {
    const { head, speaker } = await look(connection, by, gateway, term);
    if (head.term !== null) all.push(await readRows(connection, by, head, speaker));
  }
  return all;
}

async function look(
  connection: HubConnection,
  by: Adopting,
  gateway: string,
  term: number | null,
): Promise<{ readonly head: HeadRow; readonly speaker: Speaker }> {
  const [head] = await connection.ask<HeadRow>(LOOK, [gateway, term]);
  const speaker = head === undefined ? undefined : speakerOf(head, by.hubId, by.operators());
  if (head === undefined || speaker?.vaultId !== by.vaultId)
    throw new Denied(
      "not_found",
      `No gateway ${gateway} of this vault is on the hub. Nothing was taken over. Who is there: gw status --hub URL`,
    );
  return { head, speaker };
}

/** Rows are read after the word that they belong to: where the other has said its next one between the two, nobody has changed anything. */
async function readRows(connection: HubConnection, by: Adopting, head: HeadRow, speaker: Speaker): Promise<Adopted> {
  try {
    return await readSaid(connection, by, head, speaker);
  } catch (error) {
    if (!(error instanceof Denied) || error.code !== "hub_state_tampered") throw error;
    const now = await look(connection, by, speaker.gateway, Number(head.term));
    throw now.head.tick === head.tick ? error : alive(speaker.gateway);
  }
}

async function readSaid(
  connection: HubConnection,
  { hubId, vaultId, seal, requireReadable }: Adopting,
  head: HeadRow,
  { gateway, identityKey }: Speaker,
): Promise<Adopted> {
  const [term, tick] = [Number(head.term), Number(head.tick)];
  const given = { text: head.statement, signature: head.signature };
  const said = readHubStatement<StateStatement>(given, "gw.hub-state/v1", identityKey);
  const ours = said?.hub_id === hubId && said.gateway === gateway && said.vault_id === vaultId;
  if (said === undefined || !ours || said.term !== term || said.tick !== tick) throw tampered(gateway);
  if (!isCounted(term) || !isCounted(tick)) throw tampered(gateway);
  // Times are reckoned with it: a gateway that somebody owns writes there whatever they like.
  const aheadMs = typeof said.written_at === "string" ? Date.parse(said.written_at) - head.seen_ms : Number.NaN;
  if (!(Math.abs(aheadMs) <= MOST_AHEAD_MS) || !isTime(head)) throw tampered(gateway);
  // An owned gateway does not end our connection with more than is read of one answer: what is left out does not fit the sum.
  const rows = await connection.ask<{ place: string | null; tick: string; sealed: Buffer | null }>(
    `select left(place, 128) as place, tick, sealed from (
       select place, tick, sealed, sum(octet_length(sealed)) over (order by place) as bytes
         from ${HUB_SCHEMA}.state where gateway = $1 and term = $2
     ) each where bytes <= ${defaults.hubStateBytes} order by each.place limit ${defaults.hubStateRows}`,
    [gateway, term],
  );
  const sealed = rows.map(({ place, tick, sealed }): SealedRow => {
    if (place === null || sealed === null) throw tampered(gateway);
    return { place, tick: Number(tick), sealed };
  });
  const sum = emptySum();
  for (const row of sealed) addMark(sum, markOf(seal, row));
  if (sumText(seal, sum) !== said.sum) throw tampered(gateway);
  // An old row that is put there twice adds nothing to the sum.
  if (new Set(sealed.map(({ place }) => place)).size < sealed.length) throw tampered(gateway);
  const opened = sealed.map((row) => openShared(seal, { hubId, vaultId, gateway, term }, row) ?? failTampered(gateway));
  requireReadable(gateway, opened);
  return { gateway, term, rows: opened, aheadMs, nowMs: head.now_ms, along: [] };
}

function isTime({ seen_ms, now_ms }: Pick<HeadRow, "seen_ms" | "now_ms">): boolean {
  return Number.isFinite(seen_ms) && Number.isFinite(now_ms);
}

/** A clock that lost its battery is off by decades. */
const MOST_AHEAD_MS = 100 * 366 * 86_400_000;

/** Nothing for now: what one says that goes on is read at the next look. */
function unlessAlive(error: unknown): null {
  if (error instanceof Denied && error.code === "hub_gateway_alive") return null;
  throw error;
}

function alive(gateway: string): Denied {
  return new Denied(
    "hub_gateway_alive",
    `${gateway} still speaks on the hub. Nothing was taken over. Stop it, or wait until gw status calls it silent.`,
  );
}

export function tampered(gateway: string): Denied {
  return new Denied(
    "hub_state_tampered",
    `What the hub shows of ${gateway}'s operations is not what ${gateway} wrote there, or not all of it. Nothing was taken over. Find out who changed the database; what ${gateway} had under way is in its log (gw activity --hub URL) and at the providers.`,
  );
}

function failTampered(gateway: string): never {
  throw tampered(gateway);
}
