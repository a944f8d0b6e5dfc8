/**
 * What a hub is in its database. Nothing in it is believed: every row that counts is signed, and what is secret is sealed before
 * it comes here. Grants and row security keep honest gateways apart, and an owned one to its own rows.
 */
export const HUB_SCHEMA = "gw_hub";
export const HUB_VERSION = 5;
/** Who listens here looks again; what is said here is believed by nobody. */
export const HUB_CHANNEL = "gw_hub";
export const GATEWAY_ROLE = "gw_gateway";
export const OPERATOR_ROLE = "gw_operator";

/** What a gateway looks for when this is said: not cards and answers, which are for people, nor what is for another gateway. */
export function isForGateway(what: string, gateway: string): boolean {
  if (what === "card" || what === "answer") return false;
  return !what.startsWith("statement ") || what === statementFor(gateway);
}
export const statementFor = (gateway: string): string => `statement ${gateway}`;

/** Among the cards: what a gateway shows of its operations. No question has this name. */
export const BOARD = "board";
/** And the one for the sessions that live. */
export const SESSIONS = "sessions";
/** And the one for how the last questions ended. */
export const ENDINGS = "endings";

/** Of a column that holds a statement or a signature: what is longer ends there, and does not fit. */
const [MOST_TEXT, MOST_BYTES] = [8_192, 1_024];
/** What one row has of both. */
export const BESIDE_BYTES = MOST_TEXT + MOST_BYTES;
export const shortText = (column: string): string => `left(${column}, ${MOST_TEXT}) as ${lastOf(column)}`;
export const shortBytes = (column: string): string =>
  `substring(${column} from 1 for ${MOST_BYTES}) as ${lastOf(column)}`;
const lastOf = (column: string): string => column.slice(column.indexOf(".") + 1);

/** No gateway and no question has a longer name; a row whose name is longer is not read, since names have no other bound there. */
export const shortName = (column: string): string => `octet_length(${column}) <= 64`;

const own = (column: string): string =>
  `exists (select from ${HUB_SCHEMA}.gateways g where g.name = ${column} and g.login = current_user)`;

/**
 * What gateways have under way. A term of a gateway has one head, which moves by one with every word; whoever takes the term over
 * refers to the head as it was seen. From then on the database itself keeps that head, and with it the rows, from moving.
 */
const stateSchema = `
create table ${HUB_SCHEMA}.state_head (
  gateway   text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  term      bigint not null,
  tick      bigint not null,
  seen_at   timestamptz not null default clock_timestamp(),
  statement text  not null,
  signature bytea not null,
  primary key (gateway, term),
  unique (gateway, term, tick)
) with (fillfactor = 50);
create table ${HUB_SCHEMA}.state (
  gateway text collate "C" not null,
  term    bigint not null,
  place   text collate "C" not null,
  tick    bigint not null,
  sealed  bytea  not null,
  primary key (gateway, term, place),
  foreign key (gateway, term) references ${HUB_SCHEMA}.state_head on delete cascade
) with (fillfactor = 50);
create table ${HUB_SCHEMA}.adoptions (
  gateway   text collate "C" not null,
  term      bigint not null,
  tick      bigint not null,
  by        text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  statement text  not null,
  signature bytea not null,
  primary key (gateway, term),
  foreign key (gateway, term, tick) references ${HUB_SCHEMA}.state_head (gateway, term, tick)
);
grant select on ${HUB_SCHEMA}.state_head, ${HUB_SCHEMA}.state, ${HUB_SCHEMA}.adoptions to ${OPERATOR_ROLE};
grant select, insert, update, delete on ${HUB_SCHEMA}.state_head, ${HUB_SCHEMA}.state to ${GATEWAY_ROLE};
grant select, insert on ${HUB_SCHEMA}.adoptions to ${GATEWAY_ROLE};
alter table ${HUB_SCHEMA}.state_head enable row level security;
alter table ${HUB_SCHEMA}.state enable row level security;
alter table ${HUB_SCHEMA}.adoptions enable row level security;
create policy look on ${HUB_SCHEMA}.state_head for select using (true);
create policy own on ${HUB_SCHEMA}.state_head for insert to ${GATEWAY_ROLE} with check (${own("gateway")});
create policy own_change on ${HUB_SCHEMA}.state_head for update to ${GATEWAY_ROLE} using (${own("gateway")});
create policy own_end on ${HUB_SCHEMA}.state_head for delete to ${GATEWAY_ROLE} using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.state for select using (true);
create policy own on ${HUB_SCHEMA}.state for insert to ${GATEWAY_ROLE} with check (${own("gateway")});
create policy own_change on ${HUB_SCHEMA}.state for update to ${GATEWAY_ROLE} using (${own("gateway")});
create policy own_end on ${HUB_SCHEMA}.state for delete to ${GATEWAY_ROLE} using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.adoptions for select using (true);
create policy own on ${HUB_SCHEMA}.adoptions for insert to ${GATEWAY_ROLE} with check (${own("by")});
`;

/** Who waits to be unlocked, and what operators say to that. */
const waitingSchema = `alter table ${HUB_SCHEMA}.statements add column kind text not null default 'order';
create table ${HUB_SCHEMA}.waiting (
  gateway   text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  nonce     text  not null,
  statement text  not null,
  signature bytea not null,
  at        timestamptz not null default clock_timestamp(),
  primary key (gateway, nonce)
);
grant select on ${HUB_SCHEMA}.waiting to ${OPERATOR_ROLE};
grant select, insert, update, delete on ${HUB_SCHEMA}.waiting to ${GATEWAY_ROLE};
grant insert (kind) on ${HUB_SCHEMA}.statements to ${OPERATOR_ROLE};
alter table ${HUB_SCHEMA}.waiting enable row level security;
create policy look on ${HUB_SCHEMA}.waiting for select to ${OPERATOR_ROLE} using (true);
create policy own on ${HUB_SCHEMA}.waiting for all to ${GATEWAY_ROLE} using (${own("gateway")});
`;

/** The newest refresh tokens of credentials that several gateways lend, and whose turn it is. Whoever writes says so by name. */
const turnsSchema = `create table ${HUB_SCHEMA}.turns (
  vault      text collate "C" not null,
  place      text collate "C" not null,
  generation bigint not null,
  gateway    text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  at         timestamptz not null default clock_timestamp(),
  statement  text  not null,
  signature  bytea not null,
  sealed     bytea not null,
  primary key (vault, place)
) with (fillfactor = 50);
grant select on ${HUB_SCHEMA}.turns to ${OPERATOR_ROLE};
grant select, insert, update on ${HUB_SCHEMA}.turns to ${GATEWAY_ROLE};
alter table ${HUB_SCHEMA}.turns enable row level security;
create policy look on ${HUB_SCHEMA}.turns for select using (true);
create policy own on ${HUB_SCHEMA}.turns for insert to ${GATEWAY_ROLE} with check (${own("gateway")});
create policy own_change on ${HUB_SCHEMA}.turns for update to ${GATEWAY_ROLE} using (true) with check (${own("gateway")});
`;

/** Heads of limits are nobody's own row: whoever writes one leaves the name of their login, and today's cannot be removed. */
const limitSchema = `alter table ${HUB_SCHEMA}.limit_head add column login text not null default current_user;
alter table ${HUB_SCHEMA}.limit_head enable row level security;
create policy look on ${HUB_SCHEMA}.limit_head for select using (true);
create policy named on ${HUB_SCHEMA}.limit_head for insert to ${GATEWAY_ROLE} with check (login = current_user);
create policy named_change on ${HUB_SCHEMA}.limit_head for update to ${GATEWAY_ROLE} using (true) with check (login = current_user);
create policy old_end on ${HUB_SCHEMA}.limit_head for delete to ${GATEWAY_ROLE}
  using (day < to_char(clock_timestamp() at time zone 'UTC' - interval '2 days', 'YYYY-MM-DD'));
`;

/**
 * A head keeps the digest of a proof that the gateways of its vault can make and no other login can; who takes the term over shows
 * it. The database checks that before it lets the head be referred to, which would keep it from moving. A head from an earlier
 * version has none, until its gateway begins its next term.
 */
const proofSchema = `alter table ${HUB_SCHEMA}.state_head add column proof_digest bytea;
alter table ${HUB_SCHEMA}.adoptions add column proof bytea;
drop policy own on ${HUB_SCHEMA}.adoptions;
create policy own on ${HUB_SCHEMA}.adoptions for insert to ${GATEWAY_ROLE} with check (${own("by")} and exists (
  select from ${HUB_SCHEMA}.state_head h where h.gateway = adoptions.gateway and h.term = adoptions.term
     and (h.proof_digest is null or h.proof_digest = sha256(adoptions.proof))));
`;

/** From an earlier version, by the owner, in one transaction. */
export function hubUpgradeFrom(version: number): string {
  const added = [`${stateSchema}${waitingSchema}`, turnsSchema, limitSchema, proofSchema].slice(version - 1).join("");
  return `${added}update ${HUB_SCHEMA}.hub set version = ${HUB_VERSION} where version = ${version};`;
}

/** Run by the owner, in one transaction. Roles belong to the whole cluster and may be there already. */
export const hubSchema = `
do $$ begin
  if not exists (select from pg_roles where rolname = '${GATEWAY_ROLE}') then create role ${GATEWAY_ROLE} nologin; end if;
  if not exists (select from pg_roles where rolname = '${OPERATOR_ROLE}') then create role ${OPERATOR_ROLE} nologin; end if;
end $$;
create schema ${HUB_SCHEMA};
revoke all on schema ${HUB_SCHEMA} from public;
create table ${HUB_SCHEMA}.hub (
  single  boolean primary key default true check (single),
  hub_id  text not null,
  version int  not null
);
create table ${HUB_SCHEMA}.gateways (
  name            text collate "C" primary key,
  login           text  not null,
  enrolment       text  not null,
  enrolment_signature bytea not null,
  leave           text,
  leave_signature bytea
);
create table ${HUB_SCHEMA}.log_head (
  gateway   text collate "C" primary key references ${HUB_SCHEMA}.gateways (name),
  tick      bigint not null,
  seen_at   timestamptz not null default clock_timestamp(),
  statement text,
  signature bytea
) with (fillfactor = 50);
create table ${HUB_SCHEMA}.log_chunk (
  gateway   text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  segment   bigint not null,
  at_offset bigint not null,
  bytes     bytea  not null,
  statement text   not null,
  signature bytea  not null,
  primary key (gateway, segment, at_offset)
);
alter table ${HUB_SCHEMA}.log_chunk alter column bytes set storage external;
create table ${HUB_SCHEMA}.cards (
  gateway     text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  approval_id text  not null,
  sealed      bytea not null,
  statement   text  not null,
  signature   bytea not null,
  primary key (gateway, approval_id)
);
create table ${HUB_SCHEMA}.statements (
  id       text primary key,
  gateway  text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  body     text not null,
  at       timestamptz not null default clock_timestamp(),
  answer   text,
  answer_signature bytea
);
create index statements_open on ${HUB_SCHEMA}.statements (gateway) where answer is null;
create index statements_answered on ${HUB_SCHEMA}.statements (gateway, at) where answer is not null;
create table ${HUB_SCHEMA}.documents (
  vault_id   text collate "C" not null,
  kind       text not null,
  generation bigint not null,
  gateway    text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  sealed     bytea not null,
  primary key (vault_id, kind, generation, gateway)
);
create table ${HUB_SCHEMA}.blobs (
  vault_id text collate "C" not null,
  digest   text not null,
  gateway  text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  sealed   bytea not null,
  primary key (vault_id, digest, gateway)
);
create table ${HUB_SCHEMA}.limit_head (
  vault   text collate "C" not null,
  name    text collate "C" not null,
  day     text collate "C" not null,
  version bigint not null,
  sealed  bytea  not null,
  primary key (vault, name, day)
) with (fillfactor = 50);
create table ${HUB_SCHEMA}.limit_share (
  vault   text collate "C" not null,
  name    text collate "C" not null,
  day     text collate "C" not null,
  gateway text collate "C" not null references ${HUB_SCHEMA}.gateways (name),
  serial  bigint not null,
  sealed  bytea  not null,
  primary key (vault, name, day, gateway)
) with (fillfactor = 50);

grant usage on schema ${HUB_SCHEMA} to ${GATEWAY_ROLE}, ${OPERATOR_ROLE};
grant select on all tables in schema ${HUB_SCHEMA} to ${OPERATOR_ROLE};
grant select on ${HUB_SCHEMA}.hub, ${HUB_SCHEMA}.gateways, ${HUB_SCHEMA}.log_head to ${GATEWAY_ROLE};
grant insert, update on ${HUB_SCHEMA}.gateways, ${HUB_SCHEMA}.log_head to ${GATEWAY_ROLE};
grant insert on ${HUB_SCHEMA}.log_chunk to ${GATEWAY_ROLE};
grant select, insert, update, delete on ${HUB_SCHEMA}.cards to ${GATEWAY_ROLE};
grant select, delete, update (answer, answer_signature) on ${HUB_SCHEMA}.statements to ${GATEWAY_ROLE};
grant select, insert on ${HUB_SCHEMA}.documents, ${HUB_SCHEMA}.blobs to ${GATEWAY_ROLE};
grant update (sealed) on ${HUB_SCHEMA}.documents to ${GATEWAY_ROLE};
grant select, insert, update, delete on ${HUB_SCHEMA}.limit_head, ${HUB_SCHEMA}.limit_share to ${GATEWAY_ROLE};
grant insert (id, gateway, body) on ${HUB_SCHEMA}.statements to ${OPERATOR_ROLE};

alter table ${HUB_SCHEMA}.gateways enable row level security;
alter table ${HUB_SCHEMA}.log_head enable row level security;
alter table ${HUB_SCHEMA}.log_chunk enable row level security;
alter table ${HUB_SCHEMA}.cards enable row level security;
alter table ${HUB_SCHEMA}.statements enable row level security;
alter table ${HUB_SCHEMA}.documents enable row level security;
alter table ${HUB_SCHEMA}.blobs enable row level security;
create policy look on ${HUB_SCHEMA}.documents for select using (true);
create policy own on ${HUB_SCHEMA}.documents for insert with check (${own("gateway")});
create policy own_change on ${HUB_SCHEMA}.documents for update using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.blobs for select using (true);
create policy own on ${HUB_SCHEMA}.blobs for insert with check (${own("gateway")});
alter table ${HUB_SCHEMA}.limit_share enable row level security;
create policy look on ${HUB_SCHEMA}.limit_share for select using (true);
create policy own on ${HUB_SCHEMA}.limit_share for insert to ${GATEWAY_ROLE} with check (${own("gateway")});
create policy own_change on ${HUB_SCHEMA}.limit_share for update to ${GATEWAY_ROLE} using (${own("gateway")});
create policy own_end on ${HUB_SCHEMA}.limit_share for delete to ${GATEWAY_ROLE} using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.cards for select to ${OPERATOR_ROLE} using (true);
create policy own on ${HUB_SCHEMA}.cards for all to ${GATEWAY_ROLE} using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.statements for select to ${OPERATOR_ROLE} using (true);
create policy say on ${HUB_SCHEMA}.statements for insert to ${OPERATOR_ROLE} with check (true);
create policy own on ${HUB_SCHEMA}.statements for all to ${GATEWAY_ROLE} using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.gateways for select using (true);
create policy own on ${HUB_SCHEMA}.gateways for insert with check (login = current_user);
create policy own_change on ${HUB_SCHEMA}.gateways for update using (login = current_user);
create policy look on ${HUB_SCHEMA}.log_head for select using (true);
create policy own on ${HUB_SCHEMA}.log_head for insert with check (${own("gateway")});
create policy own_change on ${HUB_SCHEMA}.log_head for update using (${own("gateway")});
create policy look on ${HUB_SCHEMA}.log_chunk for select to ${OPERATOR_ROLE} using (true);
create policy own on ${HUB_SCHEMA}.log_chunk for insert with check (${own("gateway")});
${stateSchema}${waitingSchema}${turnsSchema}${limitSchema}${proofSchema}insert into ${HUB_SCHEMA}.hub (hub_id, version) values ($HUB_ID$, ${HUB_VERSION});
`;
