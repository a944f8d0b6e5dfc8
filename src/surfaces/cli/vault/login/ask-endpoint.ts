import { parseJsonValue } from "../../../../../packages/request/src/json/parse.ts";
import { readTokenAnswer } from "../../../../conventions/token/answer.ts";
import type { TokenAnswer } from "../../../../conventions/token/result.ts";
import { clientPairs } from "../../../../gateway/token/request.ts";
import { Denied, Fault } from "../../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../kernel/json.ts";
import type { Secret } from "../../../../kernel/secret.ts";
import type { LentField } from "../../../../vault/lent.ts";
import type { TokenExchange } from "../../../../vault/token/exchange.ts";
import { loginLoan } from "../../../../vault/token/lend-exchange.ts";
import type { CliIo } from "../../io.ts";
import type { FormAnswer, VaultCliPorts } from "../session.ts";

/** A person who logs in: which client asks for what, and what proves it. */
export interface Login {
  readonly label: string;
  readonly exchange: TokenExchange;
  /** Null for a client that has nothing to prove itself with. */
  readonly proof: Secret | null;
  /** The key that its tokens are bound to, and what the provider wants to see in the next proof with it. */
  readonly dpopKey: Secret | null;
  nonce: string | null;
  readonly io: CliIo;
  readonly ports: VaultCliPorts;
}

type Pair = readonly [string, string];

/** One form, with whatever proves the client and the secrets that go along. */
export async function askEndpoint(
  { exchange, proof, dpopKey, nonce, ports }: Login,
  url: string,
  pairs: readonly Pair[],
  secret: readonly LentField[],
): Promise<FormAnswer> {
  if (ports.postForm === undefined) throw new Fault("nothing here can ask an authorization server");
  const all: [string, string][] = [...pairs, ...clientPairs(exchange)].map(([name, value]) => [name, value]);
  if (exchange.clientAuth === "none" && secret.length === 0)
    return await ports.postForm(url, exchange.ca, {}, new URLSearchParams(all).toString());
  const assertionId = ports.random.bytes(16).toString("base64url");
  const loan = loginLoan(exchange, url, { proof, dpopKey }, secret, {
    atMs: ports.clock.wallMs(),
    ...{ assertionId, nonce, toSign: null },
  });
  try {
    const fields = [...(loan.form ?? [])];
    const headers: Record<string, string> = {};
    if (loan.formField !== undefined) fields.push({ name: loan.formField, value: loan.headerValue });
    else headers[loan.headerName] = loan.headerValue.use(String);
    for (const { name, value } of loan.further ?? []) headers[name] = value.use(String);
    for (const { name, value } of fields) all.push([name, value.use(String)]);
    return await ports.postForm(url, exchange.ca, headers, new URLSearchParams(all).toString());
  } finally {
    loan.release();
  }
}

/** What the token endpoint makes of it, read by the very rules that hold for every exchange. */
export async function askToken(
  login: Login,
  pairs: readonly Pair[],
  secret: readonly LentField[],
): Promise<TokenAnswer> {
  const nonce = login.nonce;
  const answer = await askTokenOnce(login, pairs, secret);
  const wantsNonce = answer.kind === "refused" && answer.error === "use_dpop_nonce" && login.nonce !== nonce;
  return wantsNonce ? askTokenOnce(login, pairs, secret) : answer;
}

async function askTokenOnce(login: Login, pairs: readonly Pair[], secret: readonly LentField[]): Promise<TokenAnswer> {
  const { tokenEndpoint, scopes, resource } = login.exchange;
  const asked: readonly Pair[] = resource === null ? pairs : [...pairs, ["resource", resource]];
  const { status, headers, body } = await askEndpoint(login, tokenEndpoint, asked, secret);
  login.nonce = headers["dpop-nonce"] ?? login.nonce;
  const observation = {
    kind: "answered",
    status,
    headers,
    body,
    remoteRequestId: null,
    withheld: null,
    elapsedMs: 0,
  } as const;
  const answer = readTokenAnswer(observation, () => jsonOf(body), login.exchange, { scopes, repositories: [] });
  body.fill(0);
  return answer;
}

/** The refresh token that somebody agreed to, or why there is none to seal. */
export function agreedToken({ label, io }: Login, answer: TokenAnswer): string {
  if (answer.kind === "failed") throw new Denied("token_unavailable", `The token endpoint failed: ${answer.why}.`);
  if (answer.kind !== "token") throw new Denied("token_refused", `The token endpoint says ${answer.error}.`);
  const { granted, refreshToken } = answer;
  if (granted.beyond.length > 0)
    throw new Denied(
      "token_scope_beyond",
      `The provider granted more than was asked for: ${granted.beyond.join(" ")}. Nothing was kept.`,
    );
  if (granted.missing.length > 0)
    io.err(`warning: asked for and not granted to ${label}: ${granted.missing.join(" ")}.`);
  if (refreshToken === null)
    throw new Denied(
      "token_refused",
      "The provider gave no refresh token. Many want --scope offline_access, or a client that may have one.",
    );
  return refreshToken;
}

export function readObject(body: Buffer, what: string): JsonObject {
  const value = jsonOf(body);
  if (!isJsonObject(value)) throw new Denied("token_unavailable", `${what} answered without a JSON object.`);
  return value;
}

function jsonOf(body: Buffer): JsonValue {
  try {
    return parseJsonValue(body);
  } catch {
    return null;
  }
}
