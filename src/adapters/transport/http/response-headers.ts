/** Fields an agent may see. Everything else, Set-Cookie first of all, ends here. */
const ALLOWED = new Set([
  "allow",
  "api-version",
  "cache-control",
  "content-language",
  "content-location",
  "content-range",
  "content-type",
  "date",
  "deprecation",
  "dpop-nonce",
  "etag",
  "idempotency-replayed",
  "idempotent-replayed",
  "last-modified",
  "link",
  "location",
  "operation-location",
  "preference-applied",
  "ratelimit",
  "ratelimit-limit",
  "ratelimit-policy",
  "ratelimit-remaining",
  "ratelimit-reset",
  "retry-after",
  "sunset",
  "www-authenticate",
  "x-api-version",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
]);

const SIZE = "content-length";

/** In this order: the first one present names the exchange on the provider's side. */
const REQUEST_ID = [
  "x-request-id",
  "request-id",
  "x-amzn-requestid",
  "x-amz-request-id",
  "x-ms-request-id",
  "x-github-request-id",
  "x-correlation-id",
  "x-trace-id",
  "cf-ray",
];
const REQUEST_ID_CHARS = 256;

/** Fields that may be a list; any other field given twice with two values says nothing that can be trusted. */
const LISTS = new Set([
  "allow",
  "cache-control",
  "content-language",
  "link",
  "preference-applied",
  "ratelimit",
  "ratelimit-policy",
]);

for (const name of REQUEST_ID) ALLOWED.add(name);

export interface ResponseHead {
  readonly headers: Readonly<Record<string, string>>;
  /** The body is in some coding, which was not asked for. */
  readonly encoded: boolean;
}

/**
 * Names in lower case and values, in turns, as they came. `also` is one more name that is let through. To HEAD an answer says the
 * size that GET would be answered with, unless that is one of a coding.
 */
export function readResponseHead(fields: readonly string[], method: string, also?: string): ResponseHead {
  const headers: Record<string, string> = {};
  /** Fields that can have one value and came with two. */
  const unclear: string[] = [];
  let encoded = false;
  for (let index = 0; index < fields.length; index += 2) {
    const [name = "", value = ""] = [fields[index], fields[index + 1]];
    if (name === "content-encoding") encoded ||= value !== "" && value.toLowerCase() !== "identity";
    if (!ALLOWED.has(name) && name !== also && !(name === SIZE && method === "HEAD")) continue;
    const held = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (held === undefined) headers[name] = value;
    else if (LISTS.has(name)) headers[name] = `${held}, ${value}`;
    else if (held !== value) unclear.push(name);
  }
  for (const name of encoded ? [...unclear, SIZE] : unclear) delete headers[name];
  return { headers, encoded };
}

export function remoteRequestId(headers: Readonly<Record<string, string>>): string | null {
  for (const name of REQUEST_ID) {
    const value = headers[name];
    if (value !== undefined && value !== "" && value.length <= REQUEST_ID_CHARS) return value;
  }
  return null;
}
