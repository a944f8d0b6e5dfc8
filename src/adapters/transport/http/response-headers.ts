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

/** `raw` is name, value, name, value … as they came, in bytes. */
export function readResponseHead(raw: readonly Buffer[]): ResponseHead {
  const headers: Record<string, string> = Object.create(null);
  const doubtful = new Set<string>();
  let contentLength: number | null = null;
  let transfer: string | null = null;
  let encoded = false;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = text(raw[index]).toLowerCase();
    if (name === "content-length") contentLength = Number(text(raw[index + 1]));
    else if (name === "transfer-encoding") transfer = `${transfer ?? ""}${text(raw[index + 1]).toLowerCase()}`;
    else if (name === "content-encoding") encoded ||= !isIdentity(text(raw[index + 1]));
    else if (ALLOWED.has(name)) {
      const value = text(raw[index + 1]);
      const held = headers[name];
      if (held === undefined) headers[name] = value;
      else if (LISTS.has(name)) headers[name] = `${held}, ${value}`;
      else if (held !== value) doubtful.add(name);
    }
  }
  for (const name of doubtful) delete headers[name];
  return { headers, framing: framingOf(contentLength, transfer), contentLength, encoded };
}

export function remoteRequestId(headers: Readonly<Record<string, string>>): string | null {
  for (const name of REQUEST_ID) {
    const value = headers[name];
    if (value !== undefined && value !== "" && value.length <= REQUEST_ID_CHARS) return value;
  }
  return null;
}

function framingOf(contentLength: number | null, transfer: string | null): ResponseHead["framing"] {
  if (transfer === null) return contentLength === null ? null : "length";
  if (contentLength !== null) return "both";
  // A coding below chunked would hide the body from the scan for the credential.
  return transfer === "chunked" ? "chunked" : "unknown_coding";
}

function isIdentity(value: string): boolean {
  return value === "" || value.toLowerCase() === "identity";
}

function text(bytes: Buffer | undefined): string {
  return bytes === undefined ? "" : bytes.toString("latin1").trim();
}
