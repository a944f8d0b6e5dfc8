import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HubConnection } from "../connect.ts";
import { HUB_SCHEMA } from "../schema.ts";

/** What this host remembers of its own words, so that it knows a hub that was put back. */
export interface RememberedTerm {
  readonly term: number;
  readonly tick: number;
}

/** In place of a tick: what stood there up to this term was taken away by this host itself. */
export const WITHDRAWN = 0;

const PUT = `put as (
  insert into ${HUB_SCHEMA}.state (gateway, term, place, tick, sealed)
  select $1, $2, place, $3, decode(sealed, 'base64') from json_to_recordset($6::json) as r(place text, sealed text) where exists (select from head)
  on conflict (gateway, term, place) do update set tick = excluded.tick, sealed = excluded.sealed
)
select exists (select from head) as moved`;

/** The head moves from the word before and from no other; one that was taken over does not move at all. */
export const MOVE = `with head as (
  update ${HUB_SCHEMA}.state_head set tick = $3, seen_at = clock_timestamp(), statement = $4, signature = $5
   where gateway = $1 and term = $2::bigint and tick = $3::bigint - 1 returning 1
), gone as (
  delete from ${HUB_SCHEMA}.state where gateway = $1 and term = $2 and place = any($7::text[]) and exists (select from head)
), ${PUT}`;

/** A new term, with everything in it, in place of the one before unless somebody took that over. */
export const BEGIN = `with head as (
  insert into ${HUB_SCHEMA}.state_head (gateway, term, tick, statement, signature, proof_digest) values ($1, $2::bigint, $3::bigint, $4, $5, $7) returning 1
), old as (
  delete from ${HUB_SCHEMA}.state_head h where h.gateway = $1 and h.term < $2::bigint and exists (select from head)
     and not exists (select from ${HUB_SCHEMA}.adoptions a where a.gateway = h.gateway and a.term = h.term)
), ${PUT}`;

/** What nobody took over is taken away, and nothing that was begun since. */
export async function withdraw(
  from: { readonly gateway: string; connect(): Promise<HubConnection> },
  last: number,
): Promise<void> {
  const connection = await from.connect();
  await connection
    .ask(
      `delete from ${HUB_SCHEMA}.state_head h where h.gateway = $1 and h.term <= $2
          and not exists (select from ${HUB_SCHEMA}.adoptions a where a.gateway = h.gateway and a.term = h.term)`,
      [from.gateway, last],
    )
    .finally(() => connection.close());
}

export function away(): Denied {
  return new Denied(
    "hub_unreachable",
    "The hub did not take on record what is under way here, and signed policy sends no side effect without that. Nothing was sent. Try again when gw status shows the hub.",
  );
}

export function late(): Denied {
  return new Denied(
    "hub_unreachable",
    `The hub's database has taken no word about what is under way here for ${defaults.hubWaitMs / 1_000} seconds, and signed policy sends no side effect without that. Nothing with an effect is sent until it does.`,
  );
}

export function rolledBack(term: number, tick: number, known: RememberedTerm): Denied {
  return new Denied(
    "hub_rolled_back",
    `The hub shows word ${tick} of term ${term} about what this gateway has under way, which had written word ${known.tick} of term ${known.term}. Nothing with an effect is sent. Find out what happened to the database; then sign that you know: gw hub join URL, with the same name.`,
  );
}

export function forked(): Denied {
  return new Denied(
    "hub_forked",
    "Somebody else writes on the hub what this gateway has under way: a copy of this host. Nothing with an effect is sent. Stop the copy; a restored home joins under another name.",
  );
}

export function notTaken(gateway: string): Denied {
  return new Denied(
    "hub_refused",
    `The hub's database answers, and takes no word of ${gateway} about what it has under way: ${gateway} is another login's there by now, or a trigger or a rule of its owner keeps ours out. Nothing with an effect is sent. Look at the tables gw_hub.gateways and gw_hub.state_head there.`,
  );
}
