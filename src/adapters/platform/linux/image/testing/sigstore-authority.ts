import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import {
  bits,
  der,
  explicit,
  integer,
  octets,
  oid,
  sequence,
  set,
  utf8,
  yes,
} from "../../../../../conventions/box/der.ts";
import { canonicalJson } from "../../../../../kernel/canonical-json.ts";
import type { JsonObject } from "../../../../../kernel/json.ts";

/**
 * A whole Sigstore of its own, made for one test: certificate authority, certificate log, signature log. It signs the way
 * the public one does, so that the verifier runs with none of its requirements turned off.
 */
export interface SigstoreAuthority {
  readonly trustedRoot: JsonObject;
  /** A bundle by a fresh key whose certificate names `subject` and `issuer`. */
  signFile(file: Uint8Array, who?: Partial<Who>): JsonObject;
  signStatement(statement: JsonObject, who?: Partial<Who>): JsonObject;
}

export interface Who {
  readonly subject: string;
  readonly issuer: string;
  /** Leaves the certificate log out. */
  readonly unlogged: boolean;
}

interface Pair {
  readonly privateKey: KeyObject;
  readonly spki: Buffer;
  readonly id: Buffer;
}

const SIGNED_AT = new Date("2026-03-01T12:00:00Z");
const FROM = new Date("2026-01-01T00:00:00Z");
const UNTIL = new Date("2027-01-01T00:00:00Z");
const ALGORITHM = sequence(oid("1.2.840.10045.4.3.2"));
const SCT_LIST = "1.3.6.1.4.1.11129.2.4.2";
const V01 = "application/vnd.dev.sigstore.bundle+json;version=0.1";
const IN_TOTO = "application/vnd.in-toto+json";

export function createSigstoreAuthority(): SigstoreAuthority {
  const [authority, certificateLog, signatureLog] = [makePair(), makePair(), makePair()];
  const name = sequence(set(sequence(oid("2.5.4.3"), utf8("test authority"))));
  const rootCertificate = certify(
    authority,
    tbs(name, name, authority.spki, [extension("2.5.29.19", sequence(yes()), true)]),
  );
  const logOf = ({ spki, id }: Pair): JsonObject => ({
    baseUrl: "https://log.invalid",
    hashAlgorithm: "SHA2_256",
    publicKey: {
      rawBytes: base64(spki),
      keyDetails: "PKIX_ECDSA_P256_SHA_256",
      validFor: { start: FROM.toISOString() },
    },
    logId: { keyId: base64(id) },
  });
  const period = { start: FROM.toISOString(), end: UNTIL.toISOString() };
  return {
    trustedRoot: {
      mediaType: "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
      tlogs: [logOf(signatureLog)],
      certificateAuthorities: [
        {
          uri: "https://ca.invalid",
          certChain: { certificates: [{ rawBytes: base64(rootCertificate) }] },
          validFor: period,
        },
      ],
      ctlogs: [logOf(certificateLog)],
      timestampAuthorities: [],
    },
    signFile(file, who = {}) {
      const signer = makePair();
      const signature = sign("sha256", file, signer.privateKey);
      const digest = createHash("sha256").update(file).digest();
      const entry = logEntry("hashedrekord", {
        data: { hash: { algorithm: "sha256", value: digest.toString("hex") } },
        signature: { content: base64(signature), publicKey: { content: base64(signer.spki) } },
      });
      return {
        mediaType: V01,
        verificationMaterial: material(issue(signer, who), entry),
        messageSignature: {
          messageDigest: { algorithm: "SHA2_256", digest: base64(digest) },
          signature: base64(signature),
        },
      };
    },
    signStatement(statement, who = {}) {
      const signer = makePair();
      const payload = Buffer.from(JSON.stringify(statement));
      const encoded = Buffer.concat([Buffer.from(`DSSEv1 ${IN_TOTO.length} ${IN_TOTO} ${payload.length} `), payload]);
      const signature = sign("sha256", encoded, signer.privateKey);
      const entry = logEntry("dsse", {
        payloadHash: { algorithm: "sha256", value: createHash("sha256").update(payload).digest("hex") },
        signatures: [{ signature: base64(signature), verifier: base64(signer.spki) }],
      });
      return {
        mediaType: V01,
        verificationMaterial: material(issue(signer, who), entry),
        dsseEnvelope: {
          payload: base64(payload),
          payloadType: IN_TOTO,
          signatures: [{ sig: base64(signature), keyid: "" }],
        },
      };
    },
  };

  function issue(
    signer: Pair,
    { subject = "dev@example.com", issuer = "https://id.example.com", unlogged = false }: Partial<Who>,
  ): Buffer {
    const extensions = [
      extension("2.5.29.17", sequence(der(0x81, Buffer.from(subject))), true),
      extension("2.5.29.37", sequence(oid("1.3.6.1.5.5.7.3.3"))),
      extension("1.3.6.1.4.1.57264.1.8", utf8(issuer)),
    ];
    const before = tbs(name, sequence(), signer.spki, extensions);
    const logged = unlogged ? extensions : [...extensions, extension(SCT_LIST, octets(noteCertificate(before)))];
    return certify(authority, tbs(name, sequence(), signer.spki, logged));
  }

  /** The list that the certificate carries: one promise of the log, over the certificate without it. */
  function noteCertificate(before: Buffer): Buffer {
    const at = Buffer.alloc(8);
    at.writeBigUInt64BE(BigInt(SIGNED_AT.getTime()));
    const issuerKey = createHash("sha256").update(authority.spki).digest();
    const length = Buffer.from([before.length >> 16, (before.length >> 8) & 0xff, before.length & 0xff]);
    const noted = Buffer.concat([
      Buffer.from([0, 0]),
      at,
      Buffer.from([0, 1]),
      issuerKey,
      length,
      before,
      Buffer.from([0, 0]),
    ]);
    const signature = sign("sha256", noted, certificateLog.privateKey);
    const promise = Buffer.concat([
      Buffer.from([0]),
      certificateLog.id,
      at,
      Buffer.from([0, 0, 4, 3]),
      sized(signature),
    ]);
    return sized(sized(promise));
  }

  function logEntry(kind: string, spec: JsonObject): JsonObject {
    const body = base64(Buffer.from(JSON.stringify({ apiVersion: "0.0.1", kind, spec })));
    const integratedTime = SIGNED_AT.getTime() / 1_000;
    const promised = canonicalJson({ body, integratedTime, logID: signatureLog.id.toString("hex"), logIndex: 7 });
    const promise = sign("sha256", Buffer.from(promised), signatureLog.privateKey);
    return {
      logIndex: "7",
      logId: { keyId: base64(signatureLog.id) },
      kindVersion: { kind, version: "0.0.1" },
      integratedTime: String(integratedTime),
      inclusionPromise: { signedEntryTimestamp: base64(promise) },
      canonicalizedBody: body,
    };
  }
}

function material(certificate: Buffer, entry: JsonObject): JsonObject {
  return {
    x509CertificateChain: { certificates: [{ rawBytes: base64(certificate) }] },
    tlogEntries: [entry],
    timestampVerificationData: { rfc3161Timestamps: [] },
  };
}

function makePair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const spki = publicKey.export({ type: "spki", format: "der" });
  return { privateKey, spki, id: createHash("sha256").update(spki).digest() };
}

function tbs(issuer: Buffer, subject: Buffer, spki: Buffer, extensions: readonly Buffer[]): Buffer {
  const validity = sequence(time(FROM), time(UNTIL));
  return sequence(
    explicit(0, integer(2)),
    integer(1),
    ALGORITHM,
    issuer,
    validity,
    subject,
    spki,
    explicit(3, sequence(...extensions)),
  );
}

function certify(authority: Pair, body: Buffer): Buffer {
  return sequence(body, ALGORITHM, bits(sign("sha256", body, authority.privateKey)));
}

function extension(id: string, value: Buffer, critical = false): Buffer {
  return critical ? sequence(oid(id), yes(), octets(value)) : sequence(oid(id), octets(value));
}

/** TLS vector with a two-byte length. */
function sized(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

/** GeneralizedTime, to the second. */
function time(date: Date): Buffer {
  const text = `${date.toISOString().slice(0, 19).replace(/[-T:]/g, "")}Z`;
  return der(0x18, Buffer.from(text));
}
