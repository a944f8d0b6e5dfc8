import { Fault } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import { signAssumeRole } from "../aws/assume-role.ts";
import { basicValue, prefixed } from "../http-loan.ts";
import type { HttpLoan, LentField, RequestToSign } from "../lent.ts";
import { readPemKey } from "../pem-key.ts";
import { signAssertion } from "./assertion.ts";
import { dpopProof } from "./dpop.ts";
import type { TokenExchange } from "./exchange.ts";
import { algorithmOf, type ExchangeParts, splitParts, wipeParts } from "./parts.ts";

/** What one exchange is for, and at which moment. */
export interface ExchangeAsk {
  readonly errand: "token" | "revoke" | "login";
  /** The newest one, where the provider has replaced the one that is sealed. */
  readonly refreshToken: Secret | null;
  /** The provider's time as well as we know it. */
  readonly atMs: number;
  /** Never the same twice: a provider may refuse an assertion that it saw before. */
  readonly assertionId: string;
  /** What the token is for, where an assertion says it. */
  readonly scopes: readonly string[];
  /** What the token endpoint asked to see in the next proof (RFC 9449). */
  readonly nonce: string | null;
  /** The request itself, where it is signed as a whole. */
  readonly toSign: RequestToSign | null;
}

const ASSERTION_LIFE_S = 240;
/** Set back a little: a provider whose clock is behind ours would call it made in the future. */
const ASSERTION_BACK_S = 30;

/** What goes to the token endpoint and nowhere else. Takes ownership of `secret`; the body never reaches an agent. */
export function exchangeLoan(
  label: string,
  exchange: TokenExchange,
  url: string,
  secret: Secret,
  ask: ExchangeAsk,
): HttpLoan {
  const parts = secret.use((bytes) => splitParts(exchange, bytes));
  secret.wipe();
  return loanOf(label, exchange, url, parts, ask, []);
}

/** What goes along where a person has just agreed: what they were given for it, and what proves the client. Takes copies. */
export function loginLoan(
  exchange: TokenExchange,
  url: string,
  { proof, dpopKey }: Pick<ExchangeParts, "proof" | "dpopKey">,
  given: readonly LentField[],
  moment: Pick<ExchangeAsk, "atMs" | "assertionId" | "nonce" | "toSign">,
): HttpLoan {
  const parts = { refreshToken: null, proof: proof?.copy() ?? null, dpopKey: dpopKey?.copy() ?? null };
  return loanOf(
    exchange.clientId,
    exchange,
    url,
    parts,
    { errand: "login", refreshToken: null, scopes: exchange.scopes, ...moment },
    given,
  );
}

function loanOf(
  label: string,
  exchange: TokenExchange,
  url: string,
  parts: ExchangeParts,
  ask: ExchangeAsk,
  given: readonly LentField[],
): HttpLoan {
  const wiped: Secret[] = [];
  const own = (made: Secret): Secret => {
    wiped.push(made);
    return made;
  };
  const release = (): void => {
    for (const one of wiped) one.wipe();
    wipeParts(parts);
  };
  try {
    const form = given.map(({ name, value }): LentField => ({ name, value: own(value.copy()) }));
    const refreshToken = ask.refreshToken ?? parts.refreshToken;
    if (exchange.grant === "refresh_token" && refreshToken !== null)
      form.push({ name: ask.errand === "token" ? "refresh_token" : "token", value: own(refreshToken.copy()) });
    if (exchange.grant === "jwt_bearer")
      form.push({ name: "assertion", value: own(assertion(exchange, parts, bearerClaims(exchange, ask))) });
    const header = proveClient(exchange, parts, ask, form, own);
    const proven = { method: "POST", url, atMs: ask.atMs, proofId: ask.assertionId, nonce: ask.nonce };
    const key = url === exchange.tokenEndpoint ? parts.dpopKey : null;
    const proofs = key === null ? [] : [{ name: "dpop", value: own(dpopProof(key, proven, null)) }];
    return { label, ...header, further: [...(header.further ?? []), ...proofs], form, secrets: [], release };
  } catch (error) {
    release();
    throw error;
  }
}

/** The header that proves the client, or the first member of the form where it is proven there. */
function proveClient(
  exchange: TokenExchange,
  parts: ExchangeParts,
  ask: ExchangeAsk,
  form: LentField[],
  own: (made: Secret) => Secret,
): Pick<HttpLoan, "headerName" | "headerValue" | "formField" | "further"> {
  if (exchange.grant === "github_app") {
    using jwt = assertion(exchange, parts, timed(ask, { iss: exchange.clientId }));
    return { headerName: "authorization", headerValue: own(prefixed("Bearer ", jwt)) };
  }
  if (exchange.grant === "assume_role") {
    if (ask.toSign === null || exchange.region === null) throw new Fault("nothing says what the signature is for");
    const signed = signAssumeRole(ask.toSign, exchange.region, proofOf(parts));
    own(signed.headerValue);
    for (const { value } of signed.further ?? []) own(value);
    return signed;
  }
  switch (exchange.clientAuth) {
    case "client_secret_basic": {
      using pair = proofOf(parts).use((bytes) =>
        Secret.fromText(`${encodePart(exchange.clientId)}:${encodePart(bytes.toString("utf8"))}`),
      );
      return { headerName: "authorization", headerValue: own(basicValue(pair)) };
    }
    case "client_secret_post":
      return inForm("client_secret", own(proofOf(parts).copy()));
    case "private_key_jwt": {
      const { clientId, issuer, tokenEndpoint } = exchange;
      const claims = { iss: clientId, sub: clientId, aud: issuer ?? tokenEndpoint, jti: ask.assertionId };
      return inForm("client_assertion", own(assertion(exchange, parts, timed(ask, claims))));
    }
    case "tls_client_auth":
    case "none": {
      const first = form.shift();
      if (first === undefined && exchange.clientAuth === "tls_client_auth") return nothingToSend();
      if (first === undefined) throw new Fault("an exchange that proves nothing");
      return inForm(first.name, first.value);
    }
  }
}

/** The connection shows who it is. */
function nothingToSend(): Pick<HttpLoan, "headerName" | "headerValue"> {
  return { headerName: "", headerValue: Secret.take(Buffer.alloc(0)) };
}

function inForm(name: string, value: Secret): Pick<HttpLoan, "headerName" | "headerValue" | "formField"> {
  return { headerName: "", headerValue: value, formField: name };
}

/** RFC 7523: who speaks, for whom, to whom. Google reads the scopes from here. */
function bearerClaims({ clientId, subject, audience, tokenEndpoint }: TokenExchange, ask: ExchangeAsk): JsonObject {
  return timed(ask, {
    iss: clientId,
    ...(subject === null ? {} : { sub: subject }),
    aud: audience ?? tokenEndpoint,
    jti: ask.assertionId,
    ...(ask.scopes.length === 0 ? {} : { scope: ask.scopes.join(" ") }),
  });
}

function timed({ atMs }: ExchangeAsk, claims: JsonObject): JsonObject {
  const at = Math.floor(atMs / 1_000);
  return { ...claims, iat: at - ASSERTION_BACK_S, exp: at + ASSERTION_LIFE_S };
}

function assertion(exchange: TokenExchange, parts: ExchangeParts, claims: JsonObject): Secret {
  const key = readPemKey(proofOf(parts));
  const { keyId } = exchange;
  return signAssertion(key, algorithmOf(key, exchange), keyId === null ? {} : { kid: keyId }, claims);
}

function proofOf({ proof }: ExchangeParts): Secret {
  if (proof === null) throw new Fault("a sealed secret without the proof of its client");
  return proof;
}

/** RFC 6749, 2.3.1: both halves are written as in a form before they are joined. */
function encodePart(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}
