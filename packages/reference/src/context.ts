import type { IncomingMessage } from "node:http";
import { Denied } from "../../../src/kernel/failure.ts";

/** What a verified token says of its bearer. */
export interface Identity {
  readonly tenant: string;
  readonly actor: string;
  readonly scopes: ReadonlySet<string>;
  readonly tokenId: string;
}

/** Who asks, and the header fields that have a meaning here. One object a request; the steps see no raw header. */
export interface Who extends Identity {
  readonly name: string;
  readonly fields: RequestFields;
  /** The connection, for faults on request alone. */
  readonly request: IncomingMessage;
  /** Refuses where the body is not the one that was signed; nothing to check for a token. */
  readonly checkBody: () => void;
  /** Fields to add to the reply, whatever it turns out to be. */
  readonly reply: Record<string, string>;
}

export interface RequestFields {
  readonly authorization: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly correlationId: string | undefined;
  readonly traceId: string | undefined;
  readonly ifMatch: string | undefined;
}

const TOKEN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
const IDEMPOTENCY = /^[A-Za-z0-9_-]{16,128}$/;
const ENTITY_TAG = /^(?:W\/)?"[!#-~]{0,128}"$/;

/** Each field at most once and in its own grammar: a repeated or malformed one is refused, never picked from. */
export function readFields(rawHeaders: readonly string[]): RequestFields {
  return {
    authorization: single(rawHeaders, "authorization"),
    idempotencyKey: checked(rawHeaders, "idempotency-key", IDEMPOTENCY, "idempotency_key_missing"),
    correlationId: checked(rawHeaders, "x-correlation-id", TOKEN, "header_value_refused"),
    traceId: checked(rawHeaders, "x-trace-id", TOKEN, "header_value_refused"),
    ifMatch: checked(rawHeaders, "if-match", ENTITY_TAG, "header_value_refused"),
  };
}

export function single(rawHeaders: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() !== name) continue;
    if (found !== undefined) throw new Denied("framing_invalid", `the field ${name} came more than once`);
    found = rawHeaders[index + 1];
  }
  return found;
}

function checked(
  rawHeaders: readonly string[],
  name: string,
  grammar: RegExp,
  code: "header_value_refused" | "idempotency_key_missing",
): string | undefined {
  const value = single(rawHeaders, name);
  if (value !== undefined && !grammar.test(value)) throw new Denied(code, `the field ${name} is malformed`);
  return value;
}

export function bearerOf(fields: RequestFields): string {
  const { authorization } = fields;
  if (authorization === undefined) throw new Denied("token_missing", "send Authorization: Bearer and a token");
  const token = /^Bearer ([A-Za-z0-9._~+/-]+=*)$/i.exec(authorization)?.[1];
  if (token === undefined) throw new Denied("token_invalid", "Authorization does not hold one bearer token");
  return token;
}
