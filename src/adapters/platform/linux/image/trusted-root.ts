import type { toTrustMaterial } from "@sigstore/verify";

/** Sigstore's trusted root, as its verifier takes it. */
export type TrustedRoot = Parameters<typeof toTrustMaterial>[0];
type LogInstance = TrustedRoot["tlogs"][number];
type Authority = TrustedRoot["certificateAuthorities"][number];
type KeyDetails = NonNullable<LogInstance["publicKey"]>["keyDetails"];
type HashAlgorithm = LogInstance["hashAlgorithm"];

type Json = Readonly<Record<string, unknown>>;

// Numbers of the protobuf enumerations. Only the key kinds that Sigstore's own logs use are taken.
const KEY_DETAILS: Readonly<Record<string, number>> = {
  PKIX_ECDSA_P256_SHA_256: 5,
  PKIX_ED25519: 7,
  PKIX_ECDSA_P384_SHA_384: 12,
};
const SHA2_256 = 1;

/** Reads trusted_root.json: what is missing or of another kind throws, so that trust never comes from a guess. */
export function decodeTrustedRoot(value: unknown): TrustedRoot {
  const root = objectOf(value, "the trusted root");
  return {
    mediaType: textOf(root["mediaType"], "mediaType"),
    tlogs: listOf(root["tlogs"], "tlogs").map(decodeLog),
    certificateAuthorities: listOf(root["certificateAuthorities"], "certificateAuthorities").map(decodeAuthority),
    ctlogs: listOf(root["ctlogs"], "ctlogs").map(decodeLog),
    timestampAuthorities: listOf(root["timestampAuthorities"] ?? [], "timestampAuthorities").map(decodeAuthority),
  };
}

function decodeLog(value: unknown): LogInstance {
  const log = objectOf(value, "a log");
  const key = objectOf(log["publicKey"], "publicKey");
  const details = KEY_DETAILS[textOf(key["keyDetails"], "keyDetails")];
  if (details === undefined) throw new Error(`the trusted root has a key of kind ${String(key["keyDetails"])}`);
  const checkpointKeyId = log["checkpointKeyId"];
  return {
    baseUrl: textOf(log["baseUrl"] ?? "", "baseUrl"),
    hashAlgorithm: SHA2_256 as HashAlgorithm,
    publicKey: {
      rawBytes: bytesOf(key["rawBytes"], "rawBytes"),
      keyDetails: details as KeyDetails,
      validFor: decodePeriod(key["validFor"]),
    },
    logId: decodeLogId(log["logId"]),
    checkpointKeyId: checkpointKeyId === undefined ? undefined : decodeLogId(checkpointKeyId),
    operator: "",
  };
}

function decodeLogId(value: unknown): NonNullable<LogInstance["logId"]> {
  return { keyId: bytesOf(objectOf(value, "logId")["keyId"], "keyId") };
}

function decodeAuthority(value: unknown): Authority {
  const authority = objectOf(value, "an authority");
  const chain = listOf(objectOf(authority["certChain"], "certChain")["certificates"], "certificates");
  return {
    subject: undefined,
    uri: textOf(authority["uri"] ?? "", "uri"),
    certChain: {
      certificates: chain.map((entry) => ({
        rawBytes: bytesOf(objectOf(entry, "a certificate")["rawBytes"], "rawBytes"),
      })),
    },
    validFor: decodePeriod(authority["validFor"]),
    operator: "",
  };
}

function decodePeriod(value: unknown): NonNullable<Authority["validFor"]> {
  const period = objectOf(value, "validFor");
  const end = period["end"];
  return { start: dateOf(period["start"]), end: end === undefined ? undefined : dateOf(end) };
}

function objectOf(value: unknown, name: string): Json {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw missing(name);
  return value as Json;
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value)) throw missing(name);
  return value;
}

function textOf(value: unknown, name: string): string {
  if (typeof value !== "string") throw missing(name);
  return value;
}

function bytesOf(value: unknown, name: string): Buffer {
  const bytes = Buffer.from(textOf(value, name), "base64");
  if (bytes.length === 0) throw missing(name);
  return bytes;
}

function dateOf(value: unknown): Date {
  const date = new Date(textOf(value, "a time"));
  if (Number.isNaN(date.getTime())) throw missing("a time");
  return date;
}

function missing(name: string): Error {
  return new Error(`the trusted root has no ${name} that can be read`);
}
