import { type RevocationStatement, signStatement } from "../../../conventions/approval/decision.ts";
import { openCard } from "../../../hub/card.ts";
import { connectHub, type HubConnection } from "../../../hub/connect.ts";
import { HUB_CHANNEL, HUB_SCHEMA, shortBytes, shortText } from "../../../hub/schema.ts";
import { hasLeft, type Speaker, speakerOf } from "../../../hub/speaker.ts";
import { type AnswerStatement, readHubStatement } from "../../../hub/statement.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { type Code, codes } from "../../../kernel/codes.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { draftDecision, type SeenHead } from "../../client/draft-decision.ts";
import type { ApprovalView } from "../../client/reading.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { type ApproveOptions, approvalLines, type EvidenceOption, isMeant, wordOn } from "../operator/decide.ts";
import type { OperatorOptions } from "../options.ts";
import { policyInForce, type VaultSession, withOperator } from "../vault/session.ts";
import { type HubLoginOptions, takeHubLogin } from "./login.ts";
import { readCard } from "./read-card.ts";

type OnHub = HubLoginOptions & { readonly hub: string };

/** A question on a hub that its gateway signed and sealed for this operator. */
interface FoundCard {
  readonly speaker: Speaker;
  readonly approval: ApprovalView;
  readonly log: SeenHead;
}

interface GatewayRow {
  readonly name: string;
  readonly enrolment: string;
  readonly enrolment_signature: Buffer;
  readonly leave: string | null;
  readonly leave_signature: Buffer | null;
}

interface HubSession extends VaultSession {
  readonly connection: HubConnection;
  /** The gateways of this vault, whose keys an operator of it signed. */
  readonly speakers: readonly Speaker[];
}

/** `gw approvals --hub URL`. */
export function runHubApprovals(options: OperatorOptions & EvidenceOption & OnHub, deps: CliDeps): Promise<Exit> {
  const { io } = deps;
  return onHub(options, deps, async (session) => {
    const cards = await findCards(session, deps);
    if (options.json) {
      io.out(
        JSON.stringify(
          cards.map(({ speaker, approval }) => ({ gateway: speaker.gateway, ...approval })),
          null,
          2,
        ),
      );
    } else if (cards.length === 0) io.out("Nothing waits for a decision.");
    for (const { speaker, approval } of options.json ? [] : cards) {
      io.out(`on ${speaker.gateway}`);
      for (const line of approvalLines(approval, options)) io.out(line);
    }
    return exits.done;
  });
}

/** `gw approve ID --hub URL` and `gw deny ID --hub URL`: the same signature over the same card, by another way. */
export function runHubDecide(
  id: string,
  decision: "approve" | "deny",
  options: ApproveOptions & OnHub,
  deps: CliDeps,
): Promise<Exit> {
  return onHub(options, deps, async (session) => {
    if (options.grant === true) throw new Denied("value_not_allowed", "A grant is signed on the host itself.");
    const found = (await findCards(session, deps)).find(({ approval }) => approval.approval_id === id);
    if (found === undefined) {
      throw new Denied(
        "not_found",
        `${showIdentifier(id)} does not wait on this hub, or not for you. Nothing was signed.`,
      );
    }
    const { approval, speaker, log } = found;
    if (!options.json) for (const line of approvalLines(approval, options)) deps.io.err(line);
    if (decision === "approve" && !(await isMeant(options, deps))) {
      deps.io.err(`Nothing was signed. ${showIdentifier(id)} still waits.`);
      return exits.denied;
    }
    const statement = await draftDecision(
      approval,
      wordOn(approval, decision, options, session.home),
      session.operator,
      log,
      deps.clock,
      knownTo(session),
    );
    const state = await say(
      session,
      [speaker],
      JSON.stringify(signStatement(statement, session.operator.approver)),
      deps,
    );
    return tell(options, deps, { approval_id: id, gateway: speaker.gateway, state }, `${showIdentifier(id)} is`, state);
  });
}

/** `gw revoke SESSION --hub URL`: said to every gateway of this vault, since only its own knows the session. */
export function runHubRevoke(id: string, options: ApproveOptions & OnHub, deps: CliDeps): Promise<Exit> {
  return onHub(options, deps, async (session) => {
    const { operator, speakers } = session;
    const statement: RevocationStatement = {
      format: "gw.revocation/v1",
      vault_id: operator.vaultId,
      session_id: id,
      reason: options.reason ?? null,
      operator: operator.name,
      operator_key_id: operator.keyId,
      decided_at: isoTime(deps.clock.wallMs()),
    };
    const state = await say(session, speakers, JSON.stringify(signStatement(statement, operator.approver)), deps);
    return tell(options, deps, { session_id: id, state }, `Session ${showIdentifier(id)} has`, state);
  });
}

function knownTo({ home }: HubSession) {
  const vault = home.readVault();
  return { vault: vault.generation, policy: policyInForce(home, vault)?.version ?? 0 };
}

function tell(
  { json }: OperatorOptions,
  { io }: CliDeps,
  record: JsonObject,
  what: string,
  state: string | null,
): Exit {
  if (json) io.out(JSON.stringify(record, null, 2));
  else if (state !== null) io.out(`${what} ${showIdentifier(state)}.`);
  else
    io.err(
      "It is signed and on the hub, and the gateway has not answered yet. It takes it when it is back, unless time runs out.",
    );
  return state === null ? exits.pending : exits.done;
}

function onHub(
  options: OperatorOptions & OnHub,
  deps: CliDeps,
  work: (session: HubSession) => Promise<Exit>,
): Promise<Exit> {
  return answering(deps.io, async () => {
    const login = await takeHubLogin(options.hub, options, deps.io);
    try {
      return await withOperator(options, deps.io, deps.vault, async (session) => {
        const connection = await connectHub(login, null);
        try {
          const speakers = await findSpeakers(connection, session);
          return await work({ ...session, connection, speakers });
        } finally {
          await connection.close();
        }
      });
    } finally {
      login.password?.wipe();
    }
  });
}

async function findSpeakers(
  connection: HubConnection & { readonly hubId: string },
  { home, operator }: VaultSession,
): Promise<readonly Speaker[]> {
  const keys = home.readVault().operators.map(({ approverKey }) => approverKey);
  const rows = await connection.ask<GatewayRow>(
    `select name, ${shortText("enrolment")}, ${shortBytes("enrolment_signature")}, ${shortText("leave")}, ${shortBytes("leave_signature")}
       from ${HUB_SCHEMA}.gateways order by name limit ${defaults.hubGateways}`,
  );
  return rows.flatMap((row) => {
    const speaker = speakerOf(row, connection.hubId, keys);
    // One that is merely said to have left is still asked: nobody takes a gateway out of reach with a row.
    return speaker?.vaultId === operator.vaultId && !hasLeft(row, speaker, keys) ? [speaker] : [];
  });
}

/** What was not signed by its gateway, or not sealed for this person, is told of and never shown. */
async function findCards(
  { connection, speakers, operator }: HubSession,
  { io, clock }: CliDeps,
): Promise<readonly FoundCard[]> {
  const rows = await connection.ask<{
    gateway: string;
    approval_id: string;
    sealed: Buffer;
    statement: string;
    signature: Buffer;
  }>(
    // No gateway has more to show than the largest card: an owned one does not fill the answer.
    `select gateway, approval_id, sealed, ${shortText("statement")}, ${shortBytes("signature")}
       from (select *, sum(octet_length(sealed)) over (partition by gateway order by octet_length(sealed), approval_id) as bytes
               from ${HUB_SCHEMA}.cards where gateway = any($1)) one
      where bytes <= ${defaults.hubCardBytes} order by gateway, approval_id limit ${defaults.hubGateways}`,
    [speakers.map(({ gateway }) => gateway)],
  );
  return rows.flatMap((row) => {
    const speaker = speakers.find(({ gateway }) => gateway === row.gateway);
    const card = { sealed: row.sealed, signed: { text: row.statement, signature: row.signature } };
    const opened = speaker === undefined ? undefined : openCard(card, speaker, row.approval_id, operator);
    const content = opened === undefined ? undefined : readCard(opened, row.approval_id);
    if (speaker === undefined || content === undefined) {
      io.err(
        `warning: what stands on the hub as ${showIdentifier(row.approval_id)} is not from ${showIdentifier(row.gateway)} for you. It is not shown.`,
      );
      return [];
    }
    const { approval, log } = content;
    const leftMs = Date.parse(approval.card.expires_at) - clock.wallMs();
    return leftMs <= 0 ? [] : [{ speaker, approval: { ...approval, expires_in_ms: leftMs }, log }];
  });
}

/** What the first of these gateways that did it says; its refusal where none did; null where none answered in time. */
async function say(
  { connection }: HubSession,
  speakers: readonly Speaker[],
  body: string,
  { random, clock, sleep }: CliDeps,
): Promise<string | null> {
  const asked = speakers.map((speaker) => ({ speaker, id: `hst_${random.bytes(16).toString("hex")}` }));
  if (asked.length === 0) throw new Denied("not_found", "No gateway of this vault is on this hub. Nothing was sent.");
  let looked = new AbortController();
  await connection.listen(() => looked.abort());
  for (const { speaker, id } of asked) {
    await connection.ask(
      `with put as (insert into ${HUB_SCHEMA}.statements (id, gateway, body) values ($1, $2, $3)) select pg_notify('${HUB_CHANNEL}', 'statement')`,
      [id, speaker.gateway, body],
    );
  }
  for (const stopAt = clock.bootMs() + defaults.hubAnswerMs; ; ) {
    looked = new AbortController();
    const answers = await readAnswers(connection, asked, body);
    const done = answers.find(({ code }) => code === null);
    if (done !== undefined) return done.message;
    const [refused] = answers;
    if (refused !== undefined && answers.length === asked.length)
      throw new Denied(knownCode(refused.code), String(refused.message));
    if (clock.bootMs() >= stopAt) return null;
    await sleep.sleep(defaults.hubAgainMs, looked.signal);
  }
}

/** A gateway may be newer, or somebody else's by now. */
function knownCode(code: string | null): Code {
  return code !== null && Object.hasOwn(codes, code) ? (code as Code) : "hub_refused";
}

async function readAnswers(
  connection: HubConnection,
  asked: readonly { readonly speaker: Speaker; readonly id: string }[],
  body: string,
): Promise<readonly AnswerStatement[]> {
  const rows = await connection.ask<{ id: string; answer: string; answer_signature: Buffer }>(
    `select id, ${shortText("answer")}, ${shortBytes("answer_signature")} from ${HUB_SCHEMA}.statements where id = any($1) and answer is not null`,
    [asked.map(({ id }) => id)],
  );
  return rows.flatMap(({ id, answer, answer_signature }) => {
    const speaker = asked.find((one) => one.id === id)?.speaker;
    if (speaker === undefined) return [];
    const given = { text: answer, signature: answer_signature };
    const said = readHubStatement<AnswerStatement>(given, "gw.hub-answer/v1", speaker.identityKey);
    const ours = said?.id === id && said.hub_id === speaker.hubId && said.body_digest === digestText(body);
    return said !== undefined && ours ? [said] : [];
  });
}
