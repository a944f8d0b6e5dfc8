import type { AttestationOffer } from "../../../audit/attestation.ts";
import type { HubConnection } from "../../../hub/connect.ts";
import { readHead } from "../../../hub/fetch-log.ts";
import { knownToPeers } from "../../../hub/peer-heads.ts";
import { HUB_SCHEMA, shortBytes, shortText } from "../../../hub/schema.ts";
import type { Speaker } from "../../../hub/speaker.ts";
import type { WaitingStatement } from "../../../hub/statement.ts";
import { isFresh, type KnownGateway, offerOf, readWaiting, requireNotBack } from "../../../hub/unlock.ts";
import type { Clock, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { HubPolicy } from "../../../vault/policy/policy.ts";
import type { SeenFleet } from "./memory.ts";

/** A gateway of the vault that asks to be unlocked, and why it is not to be, where it is not. */
export interface WaitingGateway {
  readonly gateway: string;
  readonly signingKey: Buffer;
  readonly request: WaitingStatement;
  readonly refused: Denied | null;
  /** What to sign of its log; null where that cannot be known from here. */
  readonly offer: AttestationOffer | null;
  /** It was at more than the hub has of it when this process began: nobody here can vouch for that. */
  readonly unseen: boolean;
}

export interface FoundWaiting {
  readonly waiting: readonly WaitingGateway[];
  /** In whose name somebody asks with a key that the policy of this home does not name: it may be older than the key. */
  readonly unknown: readonly string[];
}

interface Row {
  readonly gateway: string;
  readonly fresh: boolean;
  readonly statement: string;
  readonly signature: Buffer;
}

/** Who waits, by their own signed words of the last seconds. What is not signed by a key that policy names is nobody's. */
export async function findWaiting(
  { clock, sleep }: { readonly clock: Pick<Clock, "bootMs">; readonly sleep: Sleep },
  connection: HubConnection & { readonly hubId: string },
  speakers: readonly Speaker[],
  hub: HubPolicy | null,
  own: KnownGateway["knows"],
  seen: SeenFleet,
  despite: readonly string[] = [],
): Promise<FoundWaiting> {
  // An operator's own copies may be old, and name a host whom somebody else has removed since.
  const believed = speakers.filter(({ gateway }) => !despite.includes(gateway));
  const { by, ...said } = await knownToPeers(connection, connection.hubId, believed);
  const isNewer = said.vault > own.vault || said.policy > own.policy;
  const knows = {
    ...{ vault: Math.max(own.vault, said.vault), policy: Math.max(own.policy, said.policy) },
    ...(isNewer ? { by } : {}),
  };
  const known = (
    await Promise.all(speakers.map((speaker) => knowGateway(connection, speaker, hub, knows, seen)))
  ).flat();
  const readMs = await hubTime(connection);
  for (const stopAt = clock.bootMs() + defaults.hubSilentMs; ; ) {
    const found = await look(connection, speakers, known);
    // Said before its head was read, it may show less than that by now: it says it anew every few seconds.
    const isOlder = found.waiting.some(
      ({ request, refused }) => refused?.code === "log_rolled_back" && request.hub_ms <= readMs,
    );
    if (!isOlder || clock.bootMs() >= stopAt) return found;
    await sleep.sleep(defaults.hubAgainMs);
  }
}

async function look(
  connection: HubConnection,
  speakers: readonly Speaker[],
  known: readonly KnownGateway[],
): Promise<FoundWaiting> {
  const nowMs = await hubTime(connection);
  const rows = await connection.ask<Row>(
    // Whoever owns one host fills no answer: the newest of each gateway count.
    `select gateway, at > clock_timestamp() - make_interval(secs => $2) as fresh, ${shortText("statement")}, ${shortBytes("signature")} from (
       select *, row_number() over (partition by gateway order by at desc) as nth from ${HUB_SCHEMA}.waiting where gateway = any($1)
     ) one where nth <= 4 order by gateway limit ${4 * defaults.hubGateways}`,
    [speakers.map(({ gateway }) => gateway), defaults.hubSilentMs / 1_000],
  );
  const readable = rows.flatMap(({ gateway, statement: text, signature }) => {
    const one = known.find((other) => other.gateway === gateway);
    return (one === undefined ? undefined : readWaiting({ text, signature }, one)) ?? [];
  });
  const waiting = known.flatMap((one) => {
    const requests = readable
      .filter((request) => request.gateway === one.gateway && isFresh(request, nowMs))
      .sort((first, second) => second.hub_ms - first.hub_ms);
    const [request] = requests;
    if (request === undefined) return [];
    const { gateway, signingKey } = one;
    const unseen = request.attestation.before_frame > (one.log.head?.frame ?? -1);
    return [
      { gateway, signingKey, request, refused: judge(requests, request, one), offer: offerOf(request, one), unseen },
    ];
  });
  const unknown = rows.flatMap(({ gateway, fresh }) =>
    fresh && !readable.some((request) => request.gateway === gateway) ? [gateway] : [],
  );
  return { waiting, unknown };
}

async function hubTime(connection: HubConnection): Promise<number> {
  const [now] = await connection.ask<{ ms: string }>(
    "select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as ms",
  );
  return Number(now?.ms ?? 0);
}

function judge(requests: readonly WaitingStatement[], request: WaitingStatement, known: KnownGateway): Denied | null {
  try {
    if (new Set(requests.map(({ nonce }) => nonce)).size > 1) {
      throw new Denied(
        "hub_forked",
        `Two processes ask as ${known.gateway}. If it was just restarted, wait ${defaults.hubSilentMs / 1_000} seconds; if not, somebody has a copy of its waiting.key. No key was handed over.`,
      );
    }
    requireNotBack(request, known);
    return null;
  } catch (error) {
    if (error instanceof Denied) return error;
    throw error;
  }
}

/** Nothing for one that may not ask by this home's policy. */
async function knowGateway(
  connection: HubConnection & { readonly hubId: string },
  speaker: Speaker,
  hub: HubPolicy | null,
  knows: KnownGateway["knows"],
  seen: SeenFleet,
): Promise<readonly KnownGateway[]> {
  const { gateway, hubId, vaultId, logId, identityKey } = speaker;
  const named = hub?.hubId === hubId ? hub.gateways.find((one) => one.gateway === gateway) : undefined;
  if (named?.waiting == null || !named.identityKey.equals(identityKey)) return [];
  const [row] = await connection.ask<{ statement: string | null; signature: Buffer | null }>(
    `select ${shortText("statement")}, ${shortBytes("signature")} from ${HUB_SCHEMA}.log_head where gateway = $1`,
    [gateway],
  );
  const { statement: text = null, signature = null } = row ?? {};
  const head = text === null || signature === null ? undefined : readHead({ text, signature }, speaker);
  const shown = head === undefined ? null : { frame: head.next_frame - 1, link: head.link };
  const before = seen[gateway] ?? null;
  const frame = Math.max(shown?.frame ?? -1, before?.frame ?? -1);
  const isLess =
    before !== null && (frame > (shown?.frame ?? -1) || (before.frame === frame && before.link !== shown?.link));
  const log = { id: logId, frame, head: isLess ? null : shown };
  return [{ hubId, vaultId, gateway, signingKey: named.waiting.signingKey, knows, log }];
}
