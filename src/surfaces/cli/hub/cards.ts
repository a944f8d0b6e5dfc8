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
import type { JsonObject } from "../../../kernel/json.ts";
import type { SeenHead } from "../../client/draft-decision.ts";
import type { ApprovalView, SessionRecord } from "../../operator/answers.ts";
import type { HubSession } from "./hub-session.ts";
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

type Cards = Pick<HubSession, "connection" | "speakers" | "operator">;

/** Questions that wait; `warn` is told of what is not from its gateway for this person, which is never shown. */
export async function findCards(
  session: Cards,
  clock: Pick<Clock, "wallMs">,
  warn: (line: string) => void,
): Promise<readonly FoundCard[]> {
  const found = await openAll(session, `approval_id not in ('${BOARD}', '${SESSIONS}', '${ENDINGS}')`, readCard, warn);
  return found.flatMap(({ speaker, content: { approval, log } }) => {
    const leftMs = Date.parse(approval.card.expires_at) - clock.wallMs();
    return leftMs <= 0 ? [] : [{ speaker, approval: { ...approval, expires_in_ms: leftMs }, log }];
  });
}

/** Operations that are open on any gateway, as each showed them last. */
export async function findOperations(session: Cards, warn: (line: string) => void): Promise<readonly FoundOperation[]> {
  const found = await openAll(session, `approval_id = '${BOARD}'`, readBoard, warn);
  const takers = await findTakers(session);
  return found.flatMap(({ speaker, content }) => {
    const takenBy = takers.get(speaker.gateway) ?? null;
    return content.map((operation) => ({ speaker, operation, takenBy }));
  });
}

/** Of each gateway whose last life was taken over, by whom. What the taker did not sign is not believed. */
async function findTakers({ connection, speakers }: Cards): Promise<ReadonlyMap<string, string>> {
  const rows = await connection.ask<{ gateway: string; by: string; statement: string; signature: Buffer }>(
    `select a.gateway, a.by, ${shortText("a.statement")}, ${shortBytes("a.signature")} from ${HUB_SCHEMA}.adoptions a
      where a.gateway = any($1) and a.term = (select max(h.term) from ${HUB_SCHEMA}.state_head h where h.gateway = a.gateway)
      limit ${defaults.hubGateways}`,
    [speakers.map(({ gateway }) => gateway)],
  );
  const takers = new Map<string, string>();
  for (const { gateway, by, statement: text, signature } of rows) {
    const taker = speakers.find((one) => one.gateway === by);
    if (taker === undefined) continue;
    const said = readHubStatement<AdoptionStatement>({ text, signature }, "gw.hub-adoption/v1", taker.identityKey);
    if (said?.hub_id === connection.hubId && said.gateway === gateway && said.by === by) takers.set(gateway, by);
  }
  return takers;
}

/** Who may act on any gateway, the newest of each, as it showed them last. */
export async function findSessions(session: Cards, warn: (line: string) => void): Promise<readonly SessionRecord[]> {
  const found = await openAll(session, `approval_id = '${SESSIONS}'`, readSessions, warn);
  return found.flatMap(({ speaker: { gateway }, content }) => content.map((one) => ({ ...one, gateway })));
}

/** How the last questions of each gateway ended, by the gateway and the question. */
export async function findEndings(session: Cards, warn: (line: string) => void): Promise<ReadonlyMap<string, Ending>> {
  const found = await openAll(session, `approval_id = '${ENDINGS}'`, readEndings, warn);
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
  warn: (line: string) => void,
): Promise<readonly { readonly speaker: Speaker; readonly content: Content }[]> {
  const rows = await connection.ask<{
    gateway: string;
    approval_id: string;
    sealed: Buffer;
    statement: string;
    signature: Buffer;
  }>(
    // No gateway has more to show than the largest card, with what is read beside each, and they come in turn: an owned one does
    // not fill the answer, neither with large ones nor with many.
    `select gateway, approval_id, sealed, ${shortText("statement")}, ${shortBytes("signature")} from (
       select * from (
         select *, row_number() over each as turn, sum(octet_length(sealed) + ${BESIDE_BYTES}) over each as bytes
           from ${HUB_SCHEMA}.cards where gateway = any($1) and ${shortName("approval_id")} and ${which}
         window each as (partition by gateway order by octet_length(sealed), approval_id)
       ) all_of_each where bytes <= ${defaults.hubCardBytes + BESIDE_BYTES} order by turn, gateway limit ${defaults.hubGateways}
     ) taken order by gateway, approval_id`,
    [speakers.map(({ gateway }) => gateway)],
  );
  return rows.flatMap((row) => {
    const speaker = speakers.find(({ gateway }) => gateway === row.gateway);
    const card = { sealed: row.sealed, signed: { text: row.statement, signature: row.signature } };
    const opened = speaker === undefined ? undefined : openCard(card, speaker, row.approval_id, operator);
    const content = opened === undefined ? undefined : read(opened, row.approval_id);
    if (speaker !== undefined && content !== undefined) return [{ speaker, content }];
    warn(
      `warning: what stands on the hub as ${showIdentifier(row.approval_id)} is not from ${showIdentifier(row.gateway)} for you. It is not shown.`,
    );
    return [];
  });
}
