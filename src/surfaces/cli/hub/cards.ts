import { openCard } from "../../../hub/card.ts";
import {
  BESIDE_BYTES,
  BOARD,
  ENDINGS,
  HUB_SCHEMA,
  SESSIONS,
  shortBytes,
  shortName,
  shortText,
} from "../../../hub/schema.ts";
import type { Speaker } from "../../../hub/speaker.ts";
import { type AdoptionStatement, readHubStatement } from "../../../hub/statement.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import type { ApprovalId } from "../../../kernel/ids.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { SeenHead } from "../../client/draft-decision.ts";
import type { ApprovalView, SessionRecord } from "../../operator/answers.ts";
import type { CliIo } from "../io.ts";
import type { HubReading } from "./hub-session.ts";
import { type BoardedOperation, readBoard } from "./read-board.ts";
import { readCard } from "./read-card.ts";
import { type Ending, readEndings } from "./read-endings.ts";
import { readSessions } from "./read-sessions.ts";

/** A question on a hub that its gateway signed and sealed for this operator. */
export interface FoundCard {
  readonly speaker: Speaker;
  readonly approval: ApprovalView;
  readonly log: SeenHead;
}

export interface FoundOperation {
  readonly speaker: Speaker;
  readonly operation: BoardedOperation;
  /** The gateway that took over what this one had: it shows what is left of it. */
  readonly takenBy: string | null;
}

export type Cards = Pick<HubReading, "connection" | "speakers" | "operator">;

/** Is told of what is not from its gateway for this person, which is never shown, and of what there is no room to read. */
export interface Beside {
  invalid(line: string): void;
  unread(line: string): void;
}

/** Beside what a command prints. */
export function besideOf({ err }: Pick<CliIo, "err">): Beside {
  const warn = (line: string): void => err(`warning: ${line}`);
  return { invalid: warn, unread: warn };
}

/** For a screen, which says nothing beside itself: what is not from its gateway is told by `gw approvals --hub`. */
export const UNSAID: Beside = { invalid: () => undefined, unread: () => undefined };

/** Questions that wait. */
export async function findCards(
  session: Cards,
  clock: Pick<Clock, "wallMs">,
  beside: Beside,
): Promise<readonly FoundCard[]> {
  const which = `approval_id not in ('${BOARD}', '${SESSIONS}', '${ENDINGS}')`;
  return waiting(await openAll(session, which, readCard, beside), clock);
}

/** The one of this name, on whichever gateway it waits: read alone, whatever else waits there. */
export async function findCard(
  session: Cards,
  id: ApprovalId,
  clock: Pick<Clock, "wallMs">,
  beside: Beside,
): Promise<FoundCard | undefined> {
  return waiting(await openAll(session, "approval_id = $2", readCard, beside, [id]), clock)[0];
}

function waiting(
  found: readonly { readonly speaker: Speaker; readonly content: Pick<FoundCard, "approval" | "log"> }[],
  clock: Pick<Clock, "wallMs">,
): readonly FoundCard[] {
  return found.flatMap(({ speaker, content: { approval, log } }) => {
    const leftMs = Date.parse(approval.card.expires_at) - clock.wallMs();
    return leftMs <= 0 ? [] : [{ speaker, approval: { ...approval, expires_in_ms: leftMs }, log }];
  });
}

/** Operations that are open on any gateway, as each showed them last. */
export async function findOperations(session: Cards, beside: Beside): Promise<readonly FoundOperation[]> {
  const found = await openAll(session, `approval_id = '${BOARD}'`, readBoard, beside);
  const takers = await findTakers(session);
  return found.flatMap(({ speaker, content }) => {
    const takenBy = takers.get(speaker.gateway) ?? null;
    return content.map((operation) => ({ speaker, operation, takenBy }));
  });
}

/** Of each gateway whose last life was taken over, by whom. What the taker did not sign is not believed. */
async function findTakers({ connection, speakers }: Cards): Promise<ReadonlyMap<string, string>> {
  const rows = await connection.ask<{
    gateway: string;
    term: string;
    by: string;
    statement: string;
    signature: Buffer;
  }>(
    `select a.gateway, a.term, a.by, ${shortText("a.statement")}, ${shortBytes("a.signature")} from ${HUB_SCHEMA}.adoptions a
      where a.gateway = any($1) and a.term = (select max(h.term) from ${HUB_SCHEMA}.state_head h where h.gateway = a.gateway)
      limit ${defaults.hubGateways}`,
    [speakers.map(({ gateway }) => gateway)],
  );
  const takers = new Map<string, string>();
  for (const { gateway, term, by, statement: text, signature } of rows) {
    const taker = speakers.find((one) => one.gateway === by);
    if (taker === undefined) continue;
    const said = readHubStatement<AdoptionStatement>({ text, signature }, "gw.hub-adoption/v1", taker.identityKey);
    if (said?.hub_id !== connection.hubId || said.vault_id !== taker.vaultId) continue;
    // A word about an earlier term, played again, would hide what is open in this one.
    if (said.gateway === gateway && said.by === by && said.term === Number(term)) takers.set(gateway, by);
  }
  return takers;
}

/** Who may act on any gateway, the newest of each, as it showed them last. */
export async function findSessions(session: Cards, beside: Beside): Promise<readonly SessionRecord[]> {
  const found = await openAll(session, `approval_id = '${SESSIONS}'`, readSessions, beside);
  return found.flatMap(({ speaker: { gateway }, content }) => content.map((one) => ({ ...one, gateway })));
}

/** How the last questions of each gateway ended, by the gateway and the question. */
export async function findEndings(session: Cards, beside: Beside): Promise<ReadonlyMap<string, Ending>> {
  const found = await openAll(session, `approval_id = '${ENDINGS}'`, readEndings, beside);
  return new Map(
    found.flatMap(({ speaker, content }) => content.map((one) => [cardName(speaker, one.approval_id), one])),
  );
}

/** What another gateway shows under the same name takes nothing from this one. */
export const cardName = ({ gateway }: Speaker, approvalId: string): string => `${approvalId} ${gateway}`;

async function openAll<Content>(
  { connection, speakers, operator }: Cards,
  which: string,
  read: (content: JsonObject, id: string) => Content | undefined,
  beside: Beside,
  values: readonly string[] = [],
): Promise<readonly { readonly speaker: Speaker; readonly content: Content }[]> {
  const rows = await connection.ask<CardRow | UnreadRow>(
    // No gateway has more to show than the largest card, with what is read beside each, and they come in turn: an owned one does
    // not fill the answer, neither with large ones nor with many. Of the others it says how many there are.
    `with all_of_each as materialized (
       select gateway, approval_id, row_number() over each as turn, sum(octet_length(sealed) + ${BESIDE_BYTES}) over each as bytes
         from ${HUB_SCHEMA}.cards where gateway = any($1) and ${shortName("approval_id")} and ${which}
       window each as (partition by gateway order by octet_length(sealed), approval_id)
     ), taken as materialized (
       select gateway, approval_id from all_of_each where bytes <= ${defaults.hubCardBytes + BESIDE_BYTES}
        order by turn, gateway limit ${defaults.hubGateways}
     )
     select gateway, approval_id, sealed, ${shortText("statement")}, ${shortBytes("signature")}, null::int as unread
       from ${HUB_SCHEMA}.cards where (gateway, approval_id) in (select gateway, approval_id from taken)
     union all
     select gateway, '', null, null, null, count(*)::int from all_of_each
      where (gateway, approval_id) not in (select gateway, approval_id from taken) group by gateway
      order by gateway, approval_id`,
    [speakers.map(({ gateway }) => gateway), ...values],
  );
  return rows.flatMap((row) => {
    if (row.unread !== null) {
      beside.unread(sayUnread(row));
      return [];
    }
    const speaker = speakers.find(({ gateway }) => gateway === row.gateway);
    const card = { sealed: row.sealed, signed: { text: row.statement, signature: row.signature } };
    const opened = speaker === undefined ? undefined : openCard(card, speaker, row.approval_id, operator);
    const content = opened === undefined ? undefined : read(opened, row.approval_id);
    if (speaker !== undefined && content !== undefined) return [{ speaker, content }];
    beside.invalid(
      `what stands on the hub as ${showIdentifier(row.approval_id)} is not from ${showIdentifier(row.gateway)} for you. It is not shown.`,
    );
    return [];
  });
}

interface CardRow {
  readonly gateway: string;
  readonly approval_id: string;
  readonly sealed: Buffer;
  readonly statement: string;
  readonly signature: Buffer;
  readonly unread: null;
}

interface UnreadRow {
  readonly gateway: string;
  readonly unread: number;
}

function sayUnread({ gateway, unread }: UnreadRow): string {
  const name = showIdentifier(gateway);
  const most = `${defaults.hubCardBytes >> 20} MiB of each gateway`;
  return `${name} shows ${unread} more than ${unread === 1 ? "is" : "are"} read at a time (${most}): gw approve ID --hub URL reads one by its name, and gw approvals on ${name} lists all`;
}
