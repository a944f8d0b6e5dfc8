import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { RemoteSource } from "../../vault/source/remote.ts";
import type { TokenExchange } from "../../vault/token/exchange.ts";
import type { Outbound } from "../outbound/outbound.ts";
import { describePlain } from "../outbound/plain.ts";
import type { HttpSend } from "../ports.ts";
import type { Narrowing } from "./narrow.ts";

/** One request to an authorization server, without what is secret of it: that is lent at the moment it leaves. */
export interface TokenRequest {
  readonly wire: HttpSend;
  readonly outbound: Outbound;
}

const GRANT_TYPES = {
  client_credentials: "client_credentials",
  refresh_token: "refresh_token",
  jwt_bearer: "urn:ietf:params:oauth:grant-type:jwt-bearer",
} as const;
const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** RFC 6749, 7523 and 8707. Scopes and places stand in the sealed entry: an agent has no say in them. */
export function tokenRequest(label: string, exchange: TokenExchange, narrowing: Narrowing): TokenRequest {
  const { scopes } = narrowing;
  const { audience, resource, grant } = exchange;
  if (grant === "github_app") return installationRequest(label, exchange, narrowing);
  if (grant === "assume_role") return roleRequest(label, exchange, narrowing);
  const pairs: [string, string][] = [["grant_type", GRANT_TYPES[grant]]];
  if (scopes.length > 0) pairs.push(["scope", scopes.join(" ")]);
  if (audience !== null && grant !== "jwt_bearer") pairs.push(["audience", audience]);
  if (resource !== null) pairs.push(["resource", resource]);
  return formTo(`exchange.${label}`, label, exchange, exchange.tokenEndpoint, pairs);
}

/** RFC 7009. */
export function revocationRequest(label: string, exchange: TokenExchange, endpoint: string): TokenRequest {
  return formTo(`revoke.${label}`, label, exchange, endpoint, [["token_type_hint", "refresh_token"]]);
}

/** One request to a place that keeps secrets. What opens it is lent at the moment it leaves. */
export function sourceRequest(
  name: string,
  label: string,
  { network, ca }: RemoteSource,
  to: {
    readonly method: "GET" | "POST";
    readonly url: string;
    readonly body: JsonObject | null;
    readonly headers?: Record<string, string>;
    readonly timeoutMs?: number;
  },
): TokenRequest {
  const { method, url, timeoutMs } = to;
  const body = to.body === null ? null : JSON.stringify(to.body);
  const type = body === null ? {} : { "content-type": "application/json" };
  const headers = { accept: "application/json", ...type, ...to.headers };
  return describeTo(name, label, { network, ca, url, method, headers, body }, timeoutMs);
}

/** The permissions and the repository that the action needs, and no more. */
function installationRequest(
  label: string,
  exchange: TokenExchange,
  { scopes, repositories }: Narrowing,
): TokenRequest {
  const permissions = Object.fromEntries(scopes.map((scope) => scope.split(":")));
  const body = {
    ...(scopes.length === 0 ? {} : { permissions }),
    ...(repositories.length === 0 ? {} : { repositories }),
  };
  const headers = { "content-type": "application/json", accept: "application/vnd.github+json" };
  return requestTo(`exchange.${label}`, label, exchange, exchange.tokenEndpoint, headers, JSON.stringify(body));
}

/** A key of the role that can do what the action needs, to what it names, and nothing else. For as short as AWS lends one. */
function roleRequest(label: string, exchange: TokenExchange, { scopes, resources }: Narrowing): TokenRequest {
  const { subject, clientId, audience } = exchange;
  const statement = { Effect: "Allow", Action: scopes, Resource: resources.length === 0 ? ["*"] : resources };
  const policy = asciiOf(JSON.stringify({ Version: "2012-10-17", Statement: [statement] }));
  if (policy.length > POLICY_LENGTH)
    throw new Denied(
      "token_refused",
      `What the call names makes a session policy of ${policy.length} characters for ${label}, and AWS takes ${POLICY_LENGTH}. Nothing was sent.`,
    );
  const pairs: [string, string][] = [
    ["Action", "AssumeRole"],
    ["Version", "2011-06-15"],
    ["RoleArn", subject ?? ""],
    ["RoleSessionName", clientId],
    ["DurationSeconds", "900"],
    ["Policy", policy],
    ...(audience === null ? [] : [["ExternalId", audience] as [string, string]]),
  ];
  const headers = { "content-type": "application/x-www-form-urlencoded", accept: "text/xml" };
  const body = new URLSearchParams(pairs).toString();
  return requestTo(`exchange.${label}`, label, exchange, exchange.tokenEndpoint, headers, body);
}

/** AWS takes a policy up to U+00FF and this long. */
const POLICY_LENGTH = 2_048;

/** The same JSON with nothing in it but ASCII. */
function asciiOf(json: string): string {
  return json.replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function formTo(
  name: string,
  label: string,
  exchange: TokenExchange,
  url: string,
  pairs: readonly (readonly [string, string])[],
): TokenRequest {
  const form = [...pairs, ...clientPairs(exchange)].map(([name, value]): [string, string] => [name, value]);
  const body = new URLSearchParams(form).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
  return requestTo(name, label, exchange, url, headers, body);
}

function requestTo(
  name: string,
  label: string,
  exchange: TokenExchange,
  url: string,
  headers: HttpSend["headers"],
  body: string,
): TokenRequest {
  const { network, ca } = exchange;
  return describeTo(name, label, { network, ca, url, method: "POST", headers, body });
}

function describeTo(
  name: string,
  label: string,
  to: Pick<HttpSend, "method" | "url" | "headers" | "network" | "ca"> & { readonly body: string | null },
  timeoutMs: number = defaults.tokenExchangeMs,
): TokenRequest {
  const { body } = to;
  const wire: HttpSend = {
    ...to,
    kind: "http",
    body: body === null ? null : Buffer.from(body, "utf8"),
    echo: "withhold",
  };
  const limits = { timeoutMs, responseBytes: defaults.tokenAnswerBytes };
  const outbound = describePlain({ pack: "token", name, wire, body, sideEffect: false, credential: label, limits });
  return { wire, outbound };
}

/** Who asks, where nothing that is lent says so. */
export function clientPairs({ clientAuth, grant, clientId }: TokenExchange): readonly (readonly [string, string])[] {
  if (grant === "jwt_bearer") return [];
  if (clientAuth === "private_key_jwt") return [["client_assertion_type", ASSERTION_TYPE]];
  return clientAuth === "client_secret_basic" ? [] : [["client_id", clientId]];
}
