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
  /** Null where the message has no length of its own and ends when the connection does. */
  readonly framing: "length" | "chunked" | "both" | "unknown_coding" | null;
  readonly contentLength: number | null;
  readonly encoded: boolean;
}

/** Names in lower case, as the parser gives them; a field that came more than once is an array. */
export type ParsedFields = Readonly<Record<string, string | readonly string[] | undefined>>;

export function readResponseHead(fields: ParsedFields, also?: string): ResponseHead {
  const headers: Record<string, string> = {};
  for (const name of Object.keys(fields)) {
    if (!ALLOWED.has(name) && name !== also) continue;
    const value = readValue(name, fields[name]);
    if (value !== undefined) headers[name] = value;
  }
  const length = joined(fields["content-length"]);
  const transfer = joined(fields["transfer-encoding"]);
  const encoding = joined(fields["content-encoding"])?.toLowerCase() ?? "identity";
  return {
    headers,
    framing: framingOf(length, transfer),
    contentLength: length === undefined ? null : Number(length),
    encoded: encoding !== "identity" && encoding !== "",
  };
}

/** Undefined where a field that can have one value came with two. */
function readValue(name: string, value: string | readonly string[] | undefined): string | undefined {
  if (typeof value === "string" || value === undefined) return value?.trim();
  if (LISTS.has(name)) return value.join(", ");
  return value.every((other) => other === value[0]) ? value[0]?.trim() : undefined;
}

function joined(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" || value === undefined ? value?.trim() : value.join(",");
}

export function remoteRequestId(headers: Readonly<Record<string, string>>): string | null {
  for (const name of REQUEST_ID) {
    const value = headers[name];
    if (value !== undefined && value !== "" && value.length <= REQUEST_ID_CHARS) return value;
  }
  return null;
}

function framingOf(length: string | undefined, transfer: string | undefined): ResponseHead["framing"] {
  if (transfer === undefined) return length === undefined ? null : "length";
  if (length !== undefined) return "both";
  // A coding below chunked would hide the body from the scan for the credential.
  return transfer.toLowerCase() === "chunked" ? "chunked" : "unknown_coding";
}
