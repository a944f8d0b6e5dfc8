import { canonicalJson } from "../../../kernel/canonical-json.ts";
import { isJsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { ProbeExchange } from "./exchange.ts";
import { parseBody } from "./normalize.ts";

/** What a refreshed token may do, without the token. Null where neither answer nor token says it. */
export interface Grant {
  readonly scopes: readonly string[] | null;
  readonly audience: readonly string[] | null;
}

/** Reads claims of a JWT as hints about what was granted. Nothing here trusts them: the provider is asked, not believed. */
export function readGrant(exchange: ProbeExchange): Grant | null {
  if (exchange.kind !== "answered" || exchange.status !== 200) return null;
  const body = parseBody(exchange.body);
  if (!isJsonObject(body)) return null;
  const claims = claimsOf(body["access_token"]);
  return {
    scopes: union(body["scope"], claims?.["scope"], claims?.["scp"], claims?.["scopes"]),
    audience: union(body["audience"], claims?.["aud"]),
  };
}

function claimsOf(token: JsonValue | undefined): Readonly<Record<string, JsonValue>> | undefined {
  const part = typeof token === "string" && token.length < 16_384 ? token.split(".")[1] : undefined;
  if (part === undefined) return undefined;
  const claims = parseBody(Buffer.from(part, "base64url"));
  return isJsonObject(claims) ? claims : undefined;
}

/** Whatever one of them says: an answer may say less than the token in it. */
function union(...said: readonly (JsonValue | undefined)[]): readonly string[] | null {
  const lists = said.map(texts).filter((list) => list !== null);
  return lists.length === 0 ? null : [...new Set(lists.flat())].sort();
}

function texts(value: JsonValue | undefined): readonly string[] | null {
  if (typeof value === "string") return value.split(" ").filter(Boolean);
  return Array.isArray(value) ? value.map((one) => (typeof one === "string" ? one : canonicalJson(one))) : null;
}
