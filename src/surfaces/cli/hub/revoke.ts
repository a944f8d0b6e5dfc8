import { type RevocationStatement, signStatement } from "../../../conventions/approval/decision.ts";
import { HUB_SCHEMA } from "../../../hub/schema.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { CliDeps } from "../commands/deps.ts";
import { findSessions, UNSAID } from "./cards.ts";
import type { HubSession } from "./hub-session.ts";
import { type Answered, isKnown, refusalIn, sayEach } from "./say.ts";

type Hub = Pick<HubSession, "connection" | "speakers" | "operator">;

/**
 * Ends a session, wherever it is: said to every gateway of the vault, since only its own knows it. An owned one reads it there too and
 * could claim to have ended what it never had: it has ended once whoever shows it says so and everybody who lives has answered.
 * Null until then.
 */
export async function revokeOnHub(
  hub: Hub,
  sessionId: string,
  reason: string | null,
  deps: CliDeps,
): Promise<string | null> {
  const { connection, speakers, operator } = hub;
  const shownBy = new Set(
    (await findSessions(hub, UNSAID))
      .filter(({ session_id }) => session_id === sessionId)
      .map(({ gateway }) => gateway),
  );
  const living = await findLiving(hub);
  const statement: RevocationStatement = {
    format: "gw.revocation/v1",
    vault_id: operator.vaultId,
    session_id: sessionId,
    reason,
    operator: operator.name,
    operator_key_id: operator.keyId,
    decided_at: isoTime(deps.clock.wallMs()),
  };
  const body = JSON.stringify(signStatement(statement, operator.approver));
  const said = speakers.map(({ gateway, identityKey }) => ({ gateway, key: identityKey, body }));
  const isOwed = ({ gateway, answer }: Answered): boolean =>
    answer === null && (shownBy.has(gateway) || living.has(gateway));
  const counting = (all: readonly Answered[]): readonly Answered[] =>
    shownBy.size === 0 ? all : all.filter(({ gateway }) => shownBy.has(gateway));
  const isSettled = ({ answer }: Answered): boolean => answer?.code === null || isKnown(answer);
  const answered = await sayEach(
    connection,
    "order",
    said,
    deps,
    (all) => !all.some(isOwed) && counting(all).some(isSettled),
  );
  const believed = counting(answered);
  const refused = believed.find(({ answer }) => isKnown(answer));
  if (refused !== undefined) throw refusalOf(refused);
  if (answered.some(isOwed)) return null;
  const done = believed.find(({ answer }) => answer?.code === null)?.answer;
  if (done != null) return done.message;
  if (believed.some(({ answer }) => answer === null)) return null;
  throw refusalOf(believed[0]);
}

/** Each gateway speaks of itself; the operator asked all of them. */
function refusalOf(refused: Answered | undefined): Denied {
  const refusal = refusalIn(refused?.answer ?? null);
  return refusal.code === "not_found" ? unknownSession() : refusal;
}

export function unknownSession(): Denied {
  return new Denied(
    "not_found",
    "No gateway of this vault has a session of this id since it started, which ended all before. See: gw sessions --hub URL",
  );
}

/** Those whose log went on a moment ago. Whoever died answers nothing, and keeps nobody waiting. */
export async function findLiving({
  connection,
  speakers,
}: Pick<Hub, "connection" | "speakers">): Promise<ReadonlySet<string>> {
  const rows = await connection.ask<{ gateway: string }>(
    `select gateway from ${HUB_SCHEMA}.log_head
      where gateway = any($1) and seen_at > clock_timestamp() - make_interval(secs => $2) limit ${defaults.hubGateways}`,
    [speakers.map(({ gateway }) => gateway), defaults.hubSilentMs / 1_000],
  );
  return new Set(rows.map(({ gateway }) => gateway));
}
