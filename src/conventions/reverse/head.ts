import { Denied } from "../../kernel/failure.ts";
import { isPlaceholder } from "./placeholder.ts";
import type { HeaderLine } from "./plain.ts";

/** How it is framed, how it travels, who the tool is, what it would rather have, tracing. Sent on only where an action declares it. */
const DROPPED = new Set([
  ...["host", "connection", "keep-alive", "proxy-connection", "content-length", "transfer-encoding", "te", "trailer"],
  ...["accept-encoding", "accept-language", "accept-charset", "user-agent", "expect", "date", "via", "dnt", "priority"],
  ...["cache-control", "pragma", "origin", "referer", "forwarded", "purpose"],
  ...["traceparent", "tracestate", "baggage", "x-request-id", "x-correlation-id", "x-client-request-id", "time-zone"],
  ...["x-requested-with", "save-data", "upgrade-insecure-requests", "sentry-trace"],
]);
const DROPPED_PREFIXES = ["sec-", "x-stainless-", "x-b3-", "x-datadog-"];

/** Each of these would make it another request, and we do not carry it unless an action declares it. */
const CHANGES_MEANING = new Set([
  ...["if-match", "if-unmodified-since", "if-range", "range", "content-range", "content-encoding", "content-md5"],
  ...["x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url", "prefer"],
  ...["upgrade", "digest", "content-digest", "repr-digest", "want-digest", "idempotency-key", "x-idempotency-key"],
  ...["destination", "overwrite", "depth", "content-disposition", "content-location"],
]);

/** Fields by which tools prove who they are. In a box there is one such proof, and it is worth nothing outside. */
const CREDENTIALS = new Set([
  ...["authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "apikey", "private-token", "job-token"],
  ...["x-auth-token", "x-access-token", "x-goog-api-key", "x-amz-security-token", "x-vault-token", "x-csrf-token"],
  ...["npm-otp", "x-github-otp", "deploy-token", "x-shopify-access-token", "x-figma-token", "x-gitlab-token"],
]);

/** The same in a query, by names that mean nothing else. */
const QUERY_CREDENTIALS = new Set([
  ...[
    "access_token",
    "auth_token",
    "oauth_token",
    "private_token",
    "job_token",
    "id_token",
    "refresh_token",
    "bearer_token",
  ],
  ...["api_key", "apikey", "api-key", "x-api-key", "client_secret", "password", "passwd", "oauth_signature"],
  ...["x-amz-signature", "x-amz-security-token", "x-goog-signature", "authorization"],
]);

export interface Head {
  readonly accept: string | null;
  readonly contentType: string | null;
  /** What is left for the action to say something about. */
  readonly own: ReadonlyMap<string, string>;
  /** What is dropped unless the action declares it. */
  readonly passing: ReadonlyMap<string, string>;
  readonly dropped: readonly string[];
}

/** Sorts the fields. A proof of identity that is not this run's placeholder ends it here, and is named by its field alone. */
export function readHead(headers: readonly HeaderLine[], placeholder: string, tokenField: string | null): Head {
  const own = new Map<string, string>();
  const passing = new Map<string, string>();
  const dropped = new Set<string>();
  const accepts: string[] = [];
  let contentType: string | null = null;
  for (const [name, value] of headers) {
    if (CREDENTIALS.has(name) || name === tokenField) {
      if (!isPlaceholder(value, placeholder)) throw foreign("field", name);
      dropped.add(name);
    } else if (name === "accept") accepts.push(value);
    else if (name === "content-type") {
      if (contentType !== null && contentType !== value) throw new Denied("framing_invalid", "two Content-Type fields");
      contentType = value;
    } else if (isDropped(name)) {
      dropped.add(name);
      passing.set(name, passing.has(name) ? `${passing.get(name)}, ${value}` : value);
    } else if (own.has(name) && own.get(name) !== value) {
      throw new Denied("framing_invalid", `the field ${name} came twice with two values`);
    } else own.set(name, value);
  }
  const accept = accepts.length === 0 ? null : accepts.join(", ");
  return { accept, contentType, own, passing, dropped: [...dropped] };
}

/**
 * What no action declares as an input of its own, and is not this run's placeholder, ends it here too: wherever it stands behind
 * the path, and however much stands before it, since a target that is refused for something else is kept as it came.
 */
export function requireNoCredential(target: string, placeholder: string, isDeclared: (name: string) => boolean): void {
  const at = target.search(/[?#]/);
  for (const pair of at < 0 ? [] : target.slice(at + 1).split(/[&#]/)) {
    const [raw = "", ...value] = pair.split("=");
    const name = decoded(raw);
    if (!QUERY_CREDENTIALS.has(name.toLowerCase()) || isDeclared(name)) continue;
    if (!isPlaceholder(decoded(value.join("=")), placeholder)) throw foreign("query member", name);
  }
}

/** What cannot be decoded is taken for what it says: it is refused later in any case. */
function decoded(text: string): string {
  const spaced = text.replaceAll("+", " ");
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced;
  }
}

export function changesMeaning(name: string): boolean {
  return CHANGES_MEANING.has(name);
}

function isDropped(name: string): boolean {
  return DROPPED.has(name) || DROPPED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

function foreign(kind: "field" | "query member", name: string): Denied {
  return new Denied(
    "credential_foreign",
    `the ${kind} ${name} carries a credential that is not this run's placeholder`,
  );
}
