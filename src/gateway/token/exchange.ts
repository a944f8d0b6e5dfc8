import type { NewEvent } from "../../audit/event.ts";
import { requireHeld } from "../../conventions/action/spooled.ts";
import { openBudget } from "../../conventions/budget/budget.ts";
import type { TransportObservation } from "../../conventions/outcome/observation.ts";
import { readTokenAnswer } from "../../conventions/token/answer.ts";
import type { TokenAnswer } from "../../conventions/token/result.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import type { SecretVersion } from "../../vault/entry.ts";
import type { TokenExchange } from "../../vault/token/exchange.ts";
import { authorizedWith } from "../approval/authorize.ts";
import { attempt } from "../attempt/attempt.ts";
import { links } from "../attempt/events.ts";
import { readJson } from "../attempt/read-json.ts";
import type { CustodySending, Sending } from "../attempt/sending.ts";
import { now, requireUnlocked } from "../core.ts";
import type { Counted, Credentials } from "../ports.ts";
import { grantRow, isElsewhere, type KeptGrant, readGrant } from "./grant-row.ts";
import type { Narrowing } from "./narrow.ts";
import type { TokenNeeds } from "./needs.ts";
import { revocationRequest, tokenRequest } from "./request.ts";
import { holdRefreshToken } from "./turn.ts";

/** For whom an exchange is made: the call that needs its token. */
export type ExchangeFor = Pick<Sending | CustodySending, "session" | "callId" | "authorization"> & {
  readonly run: { readonly id: CustodySending["run"]["id"] };
  /** An operator asks: what gateways share may begin with it. */
  readonly begins?: true;
};

/** What one exchange came to, and whether an earlier one was cut off before anybody saw its end. */
export interface Exchanged {
  readonly answer: TokenAnswer;
  readonly afterCut: boolean;
}

/**
 * One exchange, which is an attempt like any other: its intent is durable before it leaves, its end after. It costs the run
 * nothing: the allowance is its own, and whoever asks for it keeps the pace. A refresh token that the provider replaced is
 * durable before anything else is made of the answer. `sourced` has what is exchanged, where that is kept elsewhere.
 */
export async function exchangeToken(
  core: TokenNeeds,
  label: string,
  { version, exchange }: { readonly version: SecretVersion; readonly exchange: TokenExchange },
  narrowing: Narrowing,
  need: ExchangeFor,
  sourced: () => Secret | null,
): Promise<Exchanged> {
  const before = readGrant(core, label, version);
  if (isElsewhere(core, before.pending))
    throw new Denied("token_unavailable", `Another gateway is getting a token of ${label} right now. Try again.`);
  const counted = await countExchange(core, label);
  const holding = await holdRefreshToken(core, before, exchange, need.begins ?? false).catch(notSent(counted));
  const { kept } = holding;
  const { wire, outbound } = tokenRequest(label, exchange, narrowing);
  const { clock, ids } = core.ports;
  const pending = { worker: core.worker, bootId: clock.bootId(), bootMs: clock.bootMs() };
  let row = grantRow(core, { ...kept, pending });
  let answer = { kind: "failed", why: "nothing could be made of its answer" } as TokenAnswer;

  const take = async (observation: TransportObservation): Promise<TransportObservation> => {
    answer = readTokenAnswer(observation, () => jsonOf(observation), exchange, narrowing);
    row = grantRow(core, { ...after(kept, exchange, answer), pending: null });
    if (isRotated(exchange, answer)) {
      await core.ledger.record("token.kept", [], [row]);
      await holding.replaced(answer.refreshToken);
    }
    return withoutBody(observation);
  };
  const lend = () => {
    using refreshToken = holding.refreshToken === null ? null : Secret.fromText(holding.refreshToken);
    const { method, url, headers, body } = wire;
    const { origin } = new URL(url);
    const atMs = clock.wallMs() + core.tokens.skewMs(label, url);
    const ask = {
      errand: "token",
      refreshToken,
      atMs,
      assertionId: ids.next("evt"),
      nonce: core.tokens.heard.nonce(label, origin),
      scopes: narrowing.scopes,
      toSign: { method, url, headers, body: requireHeld(body), atMs },
    } as const;
    return requireSame(core, label, version).lendExchange(label, exchange.tokenEndpoint, ask, sourced());
  };
  const sending: CustodySending = {
    ...paidAlone(core, need),
    outbound,
    request: wire,
    credential: label,
    lend,
    take,
    custody: () => row,
    after: ({ attemptId }) => ({ events: [told(core, sending, attemptId, label, exchange, answer)], rows: [] }),
  };
  try {
    await attempt(core, sending).catch(notSent(counted));
  } finally {
    await holding.over(answer.kind === "ended");
  }
  return { answer, afterCut: holding.afterCut };
}

/** RFC 7009: the provider forgets the refresh token, and with most of them whatever was got with it. */
export async function revokeToken(
  core: TokenNeeds,
  label: string,
  { version, exchange }: { readonly version: SecretVersion; readonly exchange: TokenExchange },
  endpoint: string,
  need: ExchangeFor,
): Promise<boolean> {
  const holding = await holdRefreshToken(core, readGrant(core, label, version), exchange, true);
  const { wire, outbound } = revocationRequest(label, exchange, endpoint);
  const lend = () => {
    using refreshToken = holding.refreshToken === null ? null : Secret.fromText(holding.refreshToken);
    const { clock, ids } = core.ports;
    const atMs = clock.wallMs() + core.tokens.skewMs(label, endpoint);
    const about = { nonce: null, toSign: null, scopes: [] };
    const ask = { errand: "revoke", refreshToken, atMs, assertionId: ids.next("evt"), ...about } as const;
    return requireSame(core, label, version).lendExchange(label, endpoint, ask, null);
  };
  const row = grantRow(core, { ...holding.kept, pending: null });
  let done = false;
  try {
    const { observation } = await attempt(core, {
      ...paidAlone(core, need),
      ...{ outbound, request: wire, credential: label, lend, custody: () => row },
    });
    done = observation.kind === "answered" && observation.status === 200;
  } finally {
    await holding.over(done);
  }
  return done;
}

/** What an operator put in its place meanwhile is not asked with here: what came of that would be kept for the one before. */
function requireSame(core: Pick<TokenNeeds, "credentials">, label: string, version: SecretVersion): Credentials {
  const credentials = requireUnlocked(core);
  if (credentials.exchangeOf(label)?.version === version) return credentials;
  throw new Denied(
    "token_unavailable",
    `${label} was replaced while a token was asked for. Nothing was sent. Try again.`,
  );
}

/** It is no attempt of a run, and one with the credential: limits of the fleet on that count it. */
export async function countExchange(core: Pick<TokenNeeds, "ports">, credential: string): Promise<Counted | null> {
  const nobody = { pack: "", grant: null, sideEffect: false, cents: 0 };
  return (await core.ports.hub?.count({ ...nobody, credential })) ?? null;
}

/** What was refused on our own side did not leave. */
export function notSent(counted: Counted | null): (error: unknown) => never {
  return (error) => {
    if (error instanceof Denied) counted?.giveBack();
    throw error;
  };
}

/** An attempt with an allowance of its own. */
export function paidAlone(
  core: Pick<TokenNeeds, "ports">,
  { run: { id }, session, callId, authorization }: ExchangeFor,
) {
  return {
    errand: "exchange",
    run: { id, budget: openBudget(id, LIMITS, now(core)) },
    session: { id: session.id, caller: { key: "gateway" } },
    callId,
    authorization: authorizedWith(authorization),
  } as const;
}

const LIMITS = { attempts: 1, sideEffects: 0, durationMs: 2 * defaults.tokenExchangeMs, spendCents: 0 };

function after(kept: KeptGrant, exchange: TokenExchange, answer: TokenAnswer): KeptGrant {
  return isRotated(exchange, answer) ? { ...kept, refreshToken: answer.refreshToken } : kept;
}

type Rotated = Extract<TokenAnswer, { readonly kind: "token" | "failed" }> & { readonly refreshToken: string };

/** Whatever else the answer says: the old one may be spent from here on. */
function isRotated({ grant }: TokenExchange, answer: TokenAnswer): answer is Rotated {
  if (grant !== "refresh_token" || !(answer.kind === "token" || answer.kind === "failed")) return false;
  return typeof answer.refreshToken === "string";
}

export function jsonOf(observation: TransportObservation) {
  return observation.kind === "answered" ? readJson(observation) : null;
}

const EMPTY = Buffer.alloc(0);

/** The token stood in it: nothing behind this sees it, not even a digest's reader. */
export function withoutBody(observation: TransportObservation): TransportObservation {
  if (observation.kind !== "answered") return observation;
  observation.body.fill(0);
  return { ...observation, body: EMPTY, withheld: "token_taken" };
}

function told(
  core: Pick<TokenNeeds, "envelope">,
  sending: CustodySending,
  attemptId: string,
  label: string,
  exchange: TokenExchange,
  answer: TokenAnswer,
): NewEvent {
  const about = {
    run_id: sending.run.id,
    ...links(sending, attemptId),
    credential_label: label,
    grant: exchange.grant,
  };
  if (answer.kind !== "token") {
    const reason = answer.kind === "failed" ? "endpoint_failed" : answer.error;
    return { ...core.envelope("token_denied"), ...about, reason };
  }
  const { granted, lifeMs } = answer;
  return {
    ...core.envelope("token_obtained"),
    ...about,
    granted: granted.scopes,
    missing: granted.missing,
    beyond: granted.beyond,
    life_s: Math.floor(lifeMs / 1_000),
    rotated: isRotated(exchange, answer),
  };
}
