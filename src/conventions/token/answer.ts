import { defaults } from "../../kernel/defaults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Answered, TransportObservation } from "../outcome/observation.ts";
import { readAssumedRole } from "./assumed-role.ts";
import type { Asked, Granted, TokenAnswer } from "./result.ts";

type ReadJson = () => JsonValue;

interface Exchange {
  readonly grant: string;
  readonly dpop: boolean;
  readonly subject: string | null;
  readonly scopes: readonly string[];
}

/** The answer of a token endpoint (RFC 6749, section 5). */
export function readTokenAnswer(
  observation: TransportObservation,
  readJson: ReadJson,
  exchange: Exchange,
  asked: Asked,
): TokenAnswer {
  if (observation.kind !== "answered") return failed(`no answer (${observation.reason})`);
  const { status, headers } = observation;
  if (status >= 300 && status < 400) return failed(`it answered with a redirect (${status}), which is not followed`);
  if (exchange.grant === "assume_role") return readAssumedRole(observation, asked, exchange.subject ?? "");
  const body = (headers["content-type"] ?? "").includes("json") ? readJson() : null;
  if (!isJsonObject(body)) return failed(`it answered ${status} without a JSON object`);
  if (status === 201 && exchange.grant === "github_app") return readInstallation(observation, body, asked);
  if (status !== 200) return refusalOf(status, body["error"]);
  const answer = readGranted(body, exchange, asked);
  const { refresh_token: refreshToken } = body;
  return answer.kind === "failed" && isToken(refreshToken) ? { ...answer, refreshToken } : answer;
}

function readGranted(body: JsonObject, exchange: Exchange, asked: Asked): TokenAnswer {
  const token = body["access_token"];
  if (!isToken(token)) return failed("its answer has no access_token that could be sent");
  const type = body["token_type"];
  const wanted = exchange.dpop ? "dpop" : "bearer";
  // Also against a provider that was talked out of it: a token that anybody could use is not what was asked for.
  if (typeof type !== "string" || type.toLowerCase() !== wanted)
    return failed(
      exchange.dpop ? "its token is bound to no key (token_type is not DPoP)" : "its token is no bearer token",
    );
  const lifeMs = lifeOf(body["expires_in"]);
  if (lifeMs === null) return failed("its token has ended already, or expires_in is no number of seconds");
  const refreshToken = body["refresh_token"] ?? null;
  if (refreshToken !== null && !isToken(refreshToken)) return failed("its refresh_token could not be sent");
  const scope = body["scope"] ?? null;
  if (scope !== null && (typeof scope !== "string" || scope.length > SCOPE_LENGTH))
    return failed("its scope is no text");
  // A provider may answer with all that a person agreed to, whatever was asked for this time; what is pinned is the bound then.
  const bound = exchange.grant === "refresh_token" ? exchange.scopes : asked.scopes;
  return { kind: "token", token, refreshToken, lifeMs, granted: compareScopes(scope, asked.scopes, bound) };
}

const SCOPE_LENGTH = 16_384;
const ERROR = /^[a-z0-9_.-]{1,64}$/;

/** Codes only: a provider could put its own words, or ours, into a description. */
function refusalOf(status: number, error: JsonValue | undefined): TokenAnswer {
  const word = typeof error === "string" && ERROR.test(error) ? error : `status_${status}`;
  if (word === "invalid_grant") return { kind: "ended", error: word };
  if (status >= 500 || status === 408 || status === 429) return failed(`it answered ${status} (${word})`);
  return { kind: "refused", error: word };
}

/** Visible ASCII, and long enough to be looked for in answers. */
function isToken(value: JsonValue | undefined): value is string {
  return (
    typeof value === "string" &&
    value.length >= defaults.secretBytesMin &&
    value.length <= defaults.accessTokenBytes &&
    VISIBLE.test(value)
  );
}

const VISIBLE = /^[\x21-\x7e]+$/;
const SECONDS = /^[0-9]{1,15}$/;

/** Null where it cannot be used. Some providers write the number as text. */
function lifeOf(expiresIn: JsonValue | undefined): number | null {
  if (expiresIn === undefined || expiresIn === null) return defaults.tokenLifeMs;
  const seconds = typeof expiresIn === "string" && SECONDS.test(expiresIn) ? Number(expiresIn) : expiresIn;
  if (typeof seconds !== "number" || !(seconds * 1_000 >= defaults.tokenLifeMinMs)) return null;
  return Math.min(Math.floor(seconds * 1_000), defaults.tokenLifeMaxMs);
}

/** A provider that says nothing gave what was asked for. */
function compareScopes(scope: string | null, asked: readonly string[], bound: readonly string[]): Granted {
  const scopes = scope === null ? asked : [...new Set(scope.split(" ").filter((one) => one !== ""))].sort();
  return {
    scopes,
    missing: asked.filter((one) => !scopes.includes(one)),
    beyond: scopes.filter((one) => !bound.includes(one)),
  };
}

function failed(why: string): TokenAnswer {
  return { kind: "failed", why };
}

/** GitHub's own form: an end instead of a life, measured from the provider's own time, and permissions by name. */
function readInstallation({ headers }: Answered, body: JsonObject, { scopes, repositories }: Asked): TokenAnswer {
  const { token, expires_at: end, permissions } = body;
  if (!isToken(token)) return failed("its answer has no token that could be sent");
  const lifeMs = Date.parse(typeof end === "string" ? end : "") - Date.parse(headers["date"] ?? "");
  if (!(lifeMs >= defaults.tokenLifeMinMs)) return failed("its token has ended already, or nothing says when it does");
  if (!isJsonObject(permissions)) return failed("its answer does not say what the token may do");
  const granted = Object.entries(permissions).map(([name, level]) => `${name}:${String(level)}`);
  // Every token has this one, whoever asks for it.
  const own = granted.filter((one) => one !== "metadata:read" || scopes.includes(one)).sort();
  const named = Array.isArray(body["repositories"]) ? body["repositories"] : [];
  // Without a list it is good for every repository of the installation.
  if (repositories.length > 0 && named.length === 0)
    return failed("its answer does not say which repositories the token is for");
  const beyond = repositories.length === 0 ? [] : named.flatMap((one) => strayOf(one, repositories));
  return {
    kind: "token",
    token,
    refreshToken: null,
    lifeMs: Math.min(lifeMs, defaults.tokenLifeMaxMs),
    granted: {
      scopes: own,
      missing: scopes.filter((one) => !own.includes(one)),
      beyond: [...(scopes.length === 0 ? [] : own.filter((one) => !scopes.includes(one))), ...beyond],
    },
  };
}

function strayOf(one: JsonValue, repositories: readonly string[]): readonly string[] {
  const name = isJsonObject(one) ? one["name"] : null;
  return typeof name === "string" && repositories.includes(name) ? [] : [`repository:${String(name)}`];
}

/** For how long a token is lent: not up to its last second, since a request is on its way for a while. */
export function lentForMs(lifeMs: number): number {
  return lifeMs - Math.min(defaults.tokenMarginMs, Math.floor(lifeMs / 5));
}
