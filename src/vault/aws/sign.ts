import { createHmac, hash } from "node:crypto";
import { Secret } from "../../kernel/secret.ts";
import type { LentField, RequestToSign, SigningScope } from "../lent.ts";
import type { AwsKeys } from "./keys.ts";
import { derivedAnew, type SigningKeys } from "./signing-keys.ts";

type Signable = RequestToSign & { readonly scope: SigningScope };

/**
 * AWS Signature Version 4, in the header form: signs the request as it is bound, with its body's digest, for one region,
 * one service and one minute of the day. The secret key itself never leaves the vault.
 */
export function signForAws(request: Signable, keys: AwsKeys, signing = derivedAnew): readonly LentField[] {
  const { scope } = request;
  const at = amzDate(request.atMs);
  const payload = sha256(request.body ?? "");
  const url = new URL(request.url);
  const own: readonly LentField[] = [
    { name: "x-amz-date", value: Secret.fromText(at) },
    // S3 wants to see it; everywhere it is part of what is signed.
    ...(scope.service === "s3" ? [{ name: "x-amz-content-sha256", value: Secret.fromText(payload) }] : []),
    ...(keys.sessionToken === null ? [] : [{ name: "x-amz-security-token", value: keys.sessionToken.copy() }]),
  ];
  const signed = signedFields(url, request.headers, own);
  const names = namesOf(signed);
  const signature = signatureOf(request, url, signed, payload, keys, signing);
  const credential = `${keys.id}/${placeOf(at, scope)}`;
  const value = `${ALGORITHM} Credential=${credential}, SignedHeaders=${names}, Signature=${signature}`;
  return [{ name: "authorization", value: Secret.fromText(value) }, ...own];
}

/**
 * The query form: what goes to the end of the query, good for `expiresS` seconds from now. S3 takes no digest of the body in
 * this form; every other service does.
 */
export function presignForAws(
  request: Signable,
  expiresS: number,
  keys: AwsKeys,
  signing = derivedAnew,
): readonly LentField[] {
  const { scope, body } = request;
  const at = amzDate(request.atMs);
  const url = new URL(request.url);
  const signed = signedFields(url, request.headers, []);
  const own: (readonly [string, string])[] = [
    ["X-Amz-Algorithm", ALGORITHM],
    ["X-Amz-Credential", `${keys.id}/${placeOf(at, scope)}`],
    ["X-Amz-Date", at],
    ["X-Amz-Expires", String(expiresS)],
    ["X-Amz-SignedHeaders", namesOf(signed)],
    ...(keys.sessionToken === null ? [] : [["X-Amz-Security-Token", keys.sessionToken.use(String)] as const]),
  ];
  const query = own.map(([name, value]) => `${name}=${encode(value)}`).join("&");
  url.search = url.search === "" ? query : `${url.search}&${query}`;
  const payload = scope.service === "s3" ? "UNSIGNED-PAYLOAD" : sha256(body ?? "");
  const signature = signatureOf(request, url, signed, payload, keys, signing);
  return [...own, ["X-Amz-Signature", signature] as const].map(([name, value]) => ({
    name,
    value: Secret.fromText(value),
  }));
}

const ALGORITHM = "AWS4-HMAC-SHA256";

type Fields = readonly (readonly [string, string])[];

function namesOf(fields: Fields): string {
  return fields.map(([name]) => name).join(";");
}

function placeOf(at: string, { region, service }: SigningScope): string {
  return `${at.slice(0, 8)}/${region}/${service}/aws4_request`;
}

function signatureOf(
  { method, atMs, scope }: Signable,
  url: URL,
  signed: Fields,
  payload: string,
  keys: AwsKeys,
  signing: SigningKeys,
): string {
  const at = amzDate(atMs);
  const canonical = [
    method,
    canonicalPath(url, scope.service),
    canonicalQuery(url),
    ...signed.map(([name, value]) => `${name}:${value}`),
    "",
    namesOf(signed),
    payload,
  ].join("\n");
  const text = [ALGORITHM, at, placeOf(at, scope), sha256(canonical)].join("\n");
  return createHmac("sha256", signing.of(keys, at.slice(0, 8), scope))
    .update(text)
    .digest("hex");
}

/** 20150830T123600Z */
function amzDate(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replaceAll("-", "").replaceAll(":", "")}Z`;
}

function sha256(data: string | Buffer): string {
  return hash("sha256", data, "hex");
}

/** Whatever the gateway gives it, a condition or a token as well as the media type. No effect at AWS hangs on `accept`. */
function signedFields(url: URL, headers: Readonly<Record<string, string>>, own: readonly LentField[]): Fields {
  const fields: [string, string][] = [["host", url.host]];
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (lower !== "accept") fields.push([lower, squeeze(value)]);
  }
  for (const { name, value } of own) fields.push([name, value.use(String)]);
  return fields.sort(([a], [b]) => (a < b ? -1 : 1));
}

function squeeze(value: string): string {
  return value.trim().replaceAll(/ +/g, " ");
}

/** S3 signs the path as it is sent, with the slashes of a key as slashes; every other service signs it encoded once more. */
function canonicalPath({ pathname }: URL, service: string): string {
  return service === "s3" ? pathname.replaceAll(/%2F/gi, "/") : pathname.split("/").map(encode).join("/");
}

function canonicalQuery({ search }: URL): string {
  if (search === "" || search === "?") return "";
  const pairs = search
    .slice(1)
    .split("&")
    .map((pair) => {
      const [name = "", ...rest] = pair.split("=");
      return [encode(decoded(name)), encode(decoded(rest.join("=")))] as const;
    });
  const sorted = pairs.sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b)));
  return sorted.map(([name, value]) => `${name}=${value}`).join("&");
}

/** In a query a blank travels as a plus. */
function decoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Everything but the unreserved characters of RFC 3986. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
