import type { KeyObject } from "node:crypto";
import { digestText } from "../kernel/canonical-json.ts";
import { defaults } from "../kernel/defaults.ts";
import type { Denied } from "../kernel/failure.ts";
import type { HubConnection } from "./connect.ts";
import { HUB_CHANNEL, HUB_SCHEMA } from "./schema.ts";
import { type AnswerStatement, signHubWith } from "./statement.ts";

/** Whose statements are taken, and the key that answers for it. */
export interface Answering {
  readonly hubId: string;
  readonly gateway: string;
  readonly key: KeyObject;
  /** What came of those whose answer the hub may not have: said again, and not done again. */
  readonly unsaid: Map<string, Outcome>;
  /** What is said of it: written down before it is answered, and a fault of our own is one of them. */
  refuse(kind: StatementKind, body: string, error: unknown): Promise<Denied>;
}

/** What operators say to a gateway: a decision or the like, the key for one that is locked, a policy. */
export type StatementKind = "order" | "unlock" | "policy";

/** How much of them is read at one look. */
const ORDERS = { bytes: defaults.hubOrderBytes, rows: defaults.hubStatementsALook };
const MOST = {
  order: ORDERS,
  unlock: ORDERS,
  policy: { bytes: defaults.hubPolicyOrderBytes, rows: 1 },
} as const satisfies Readonly<Record<StatementKind, { readonly bytes: number; readonly rows: number }>>;

type Outcome = Pick<AnswerStatement, "code" | "message">;

/**
 * Takes what operators said to a gateway and nobody answered yet, and puts its signed answer beside each. By what is unanswered,
 * never by a sequence: rows become visible in another order than they were numbered.
 */
export async function answerStatements(
  connection: HubConnection,
  { hubId, gateway, key, unsaid, refuse }: Answering,
  kind: StatementKind,
  take: (body: string) => Promise<string>,
): Promise<void> {
  const rows = await connection.ask<{ id: string; body: string }>(
    `select id, left(body, ${MOST[kind].bytes}) as body from ${HUB_SCHEMA}.statements
      where gateway = $1 and kind = $2 and answer is null order by at limit ${MOST[kind].rows}`,
    [gateway, kind],
  );
  for (const { id, body } of rows) {
    const body_digest = digestText(body);
    const came =
      unsaid.get(body_digest) ??
      (await outcomeOf(
        () => take(body),
        (error) => refuse(kind, body, error),
      ));
    // What a locked gateway refuses a key for is for its operator: the code says it, and the database learns no more.
    const outcome = kind === "unlock" && came.code !== null ? { ...came, message: "" } : came;
    if (unsaid.size >= defaults.hubStatementsALook) unsaid.clear();
    unsaid.set(body_digest, outcome);
    const place = { format: "gw.hub-answer/v1", hub_id: hubId, gateway, id, body_digest } as const;
    const { text, signature } = signHubWith({ ...place, ...outcome }, key);
    await connection.ask(
      `with put as (update ${HUB_SCHEMA}.statements set answer = $3, answer_signature = $4 where gateway = $1 and id = $2)
       select pg_notify('${HUB_CHANNEL}', 'answer')`,
      [gateway, id, text, signature],
    );
    unsaid.delete(body_digest);
  }
}

/** Whatever it meets: a row that is never answered would keep all after it waiting. */
async function outcomeOf(take: () => Promise<string>, refuse: (error: unknown) => Promise<Denied>): Promise<Outcome> {
  try {
    return { code: null, message: await take() };
  } catch (error) {
    const { code, message } = await refuse(error);
    return { code, message: message.slice(0, 500).toWellFormed() };
  }
}
