import type { StatementKind } from "../../../hub/answer-statements.ts";
import type { HubConnection } from "../../../hub/connect.ts";
import { HUB_CHANNEL, HUB_SCHEMA, shortBytes, shortText, statementFor } from "../../../hub/schema.ts";
import { type AnswerStatement, readHubStatement } from "../../../hub/statement.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { type Code, codes } from "../../../kernel/codes.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { HubSession } from "./hub-session.ts";

/** What an operator signed for one gateway, and whose key its answer bears. */
export interface Said {
  readonly gateway: string;
  readonly key: Buffer;
  readonly body: string;
}

export interface Answered extends Said {
  /** Null where it has not answered in time. */
  readonly answer: AnswerStatement | null;
}

type Asked = Said & { readonly id: string };

/**
 * What the first of these gateways that did it says. Where none did, the refusal of one that knows what it is about counts, though
 * others are silent: a host that died answers nothing. Null where whoever knows it may still answer.
 */
export async function say(
  { connection, speakers }: Pick<HubSession, "connection" | "speakers">,
  body: string,
  deps: CliDeps,
): Promise<string | null> {
  const said = speakers.map(({ gateway, identityKey }) => ({ gateway, key: identityKey, body }));
  const answered = await sayEach(connection, "order", said, deps, (all) =>
    all.some(({ answer }) => answer?.code === null || isKnown(answer)),
  );
  const done = answered.find(({ answer }) => answer?.code === null)?.answer;
  if (done != null) return done.message;
  const refused = answered.find(({ answer }) => isKnown(answer));
  if (refused !== undefined) throw refusalIn(refused.answer);
  if (answered.some(({ answer }) => answer === null)) return null;
  throw refusalIn(answered[0]?.answer ?? null);
}

/** Whether whoever refused it had what was asked about: not where it never had it, or another has it now. */
export const isKnown = (answer: AnswerStatement | null): boolean =>
  answer !== null &&
  answer.code !== null &&
  !["not_found", "operation_taken_over", "gateway_locked"].includes(answer.code);

/** Puts them there and waits until all have answered, or `enough` of them. */
export async function sayEach(
  connection: HubConnection & { readonly hubId: string },
  kind: StatementKind,
  said: readonly Said[],
  { random, clock, sleep }: CliDeps,
  enough: (answered: readonly Answered[]) => boolean = () => false,
): Promise<readonly Answered[]> {
  const asked = said.map((one) => ({ ...one, id: `hst_${random.bytes(16).toString("hex")}` }));
  if (asked.length === 0)
    throw new Denied(
      "not_found",
      "No gateway of this vault is on this hub. Nothing was sent. Check that the address is that of its hub, and that vault.json in this home is that of its gateways.",
    );
  let looked = new AbortController();
  // A live screen says many things over one connection.
  const unhear = await connection.listen(() => looked.abort());
  try {
    for (const { gateway, id, body } of asked) {
      await connection.ask(
        `with put as (insert into ${HUB_SCHEMA}.statements (id, gateway, body, kind) values ($1, $2, $3, $4)) select pg_notify('${HUB_CHANNEL}', $5)`,
        [id, gateway, body, kind, statementFor(gateway)],
      );
    }
    for (const stopAt = clock.bootMs() + defaults.hubAnswerMs; ; ) {
      looked = new AbortController();
      const answers = await readAnswers(connection, asked);
      const answered = asked.map((one) => ({ ...one, answer: answers.find(({ id }) => id === one.id) ?? null }));
      if (answers.length === asked.length || enough(answered) || clock.bootMs() >= stopAt) return answered;
      await sleep.sleep(defaults.hubAgainMs, looked.signal);
    }
  } finally {
    unhear();
  }
}

/** A gateway may be newer, or somebody else's by now: its code may be none of ours. */
export function refusalIn(answer: AnswerStatement | null): Denied {
  const code = answer?.code ?? null;
  const known = code !== null && Object.hasOwn(codes, code) ? (code as Code) : "hub_refused";
  const { means, mend } = codes[known];
  const told = answer?.message ?? "";
  return new Denied(known, told === "" ? `${means} ${mend}` : told);
}

async function readAnswers(
  connection: HubConnection & { readonly hubId: string },
  asked: readonly Asked[],
): Promise<readonly AnswerStatement[]> {
  const rows = await connection.ask<{ id: string; answer: string; answer_signature: Buffer }>(
    `select id, ${shortText("answer")}, ${shortBytes("answer_signature")} from ${HUB_SCHEMA}.statements where id = any($1) and answer is not null`,
    [asked.map(({ id }) => id)],
  );
  return rows.flatMap(({ id, answer, answer_signature }) => {
    const one = asked.find((each) => each.id === id);
    if (one === undefined) return [];
    const said = readHubStatement<AnswerStatement>(
      { text: answer, signature: answer_signature },
      "gw.hub-answer/v1",
      one.key,
    );
    const ours = said?.id === id && said.hub_id === connection.hubId && said.body_digest === digestText(one.body);
    return said !== undefined && ours ? [said] : [];
  });
}
