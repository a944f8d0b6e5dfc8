import { join } from "node:path";
import { bundleFromJSON } from "@sigstore/bundle";
import { type Signer, toSignedEntity, toTrustMaterial, Verifier } from "@sigstore/verify";
import { digestBytes } from "../../../../kernel/canonical-json.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { readPlainFile } from "../../../../vault/files/private-file.ts";
import { type ImageDigests, readChunks } from "./digest.ts";
import { decodeTrustedRoot } from "./trusted-root.ts";

/** All of it comes from signed policy; nothing is fetched. */
export interface SigstoreSettings {
  /** A file in Sigstore's trusted_root.json form, given by the operator. */
  readonly trustedRoot: string;
  /** `sha256:<hex>` of that file, so that nobody changes whom we trust without a signature on policy. */
  readonly trustedRootDigest: string;
  /** Bundles stand here under the image's digest: `<hex>.sigstore.json`. The name is a place to look, not evidence. */
  readonly bundles: string;
  readonly identities: readonly SigstoreIdentity[];
}

/** An identity counts only as a whole: the same subject from another issuer is somebody else. */
export interface SigstoreIdentity {
  readonly name: string;
  readonly subject: string;
  readonly issuer: string;
}

export type SigstoreClaim =
  | {
      readonly kind: "valid";
      readonly name: string;
      readonly subject: string;
      readonly issuer: string;
      readonly keyId: string;
    }
  | { readonly kind: "stranger"; readonly subject: string; readonly issuer: string }
  | { readonly kind: "invalid"; readonly why: string };

const IN_TOTO = "application/vnd.in-toto+json";

/** Null when there is no bundle for this image. Certificate, log entry, timestamp and signature are all required. */
export function checkSigstore(settings: SigstoreSettings, fd: number, digests: ImageDigests): SigstoreClaim | null {
  const hex = digests.sha256.slice("sha256:".length);
  const path = join(settings.bundles, `${hex}.sigstore.json`);
  try {
    const bundle = readPlainFile(path, defaults.sigstoreFileBytes);
    if (bundle === undefined) return null;
    const { identities } = settings;
    return verifyBundle({ bundle, trustedRoot: readTrustedRoot(settings), identities }, fd, digests);
  } catch (error) {
    return { kind: "invalid", why: error instanceof Error ? error.message : "the bundle cannot be read" };
  }
}

/** Who signed the opened file, by this bundle under this trusted root. */
export function verifyBundle(
  given: { readonly bundle: Buffer; readonly trustedRoot: Buffer; readonly identities: readonly SigstoreIdentity[] },
  fd: number,
  digests: ImageDigests,
): SigstoreClaim {
  const hex = digests.sha256.slice("sha256:".length);
  try {
    const bundle = bundleFromJSON(JSON.parse(given.bundle.toString("utf8")));
    if (bundle.content.$case === "dsseEnvelope") {
      requireSubject(bundle.content.dsseEnvelope.payloadType, bundle.content.dsseEnvelope.payload, hex);
    }
    const artifact = bundle.content.$case === "messageSignature" ? readArtifact(fd, digests.bytes) : undefined;
    const root = toTrustMaterial(decodeTrustedRoot(JSON.parse(given.trustedRoot.toString("utf8"))));
    const signer = new Verifier(root).verify(toSignedEntity(bundle, artifact));
    return nameSigner(signer, given.identities);
  } catch (error) {
    return { kind: "invalid", why: error instanceof Error ? error.message : "the bundle cannot be read" };
  }
}

/** The library's own policy treats a subject as a pattern, so identities are compared here, whole and exactly. */
function nameSigner(signer: Signer, identities: readonly SigstoreIdentity[]): SigstoreClaim {
  const subject = signer.identity?.subjectAlternativeName;
  const issuer = signer.identity?.extensions?.issuer;
  if (subject === undefined || issuer === undefined) {
    return { kind: "invalid", why: "the certificate names no subject or no issuer" };
  }
  const known = identities.find((identity) => identity.subject === subject && identity.issuer === issuer);
  if (known === undefined) return { kind: "stranger", subject, issuer };
  const key = digestBytes(signer.key.export({ type: "spki", format: "der" }));
  return { kind: "valid", name: known.name, subject, issuer, keyId: key };
}

/** An attestation signs a statement; it speaks of this image only if the statement names its digest. */
function requireSubject(payloadType: string, payload: Buffer, hex: string): void {
  if (payloadType !== IN_TOTO) throw new Error(`the bundle's payload type is ${payloadType}`);
  const statement: unknown = JSON.parse(payload.toString("utf8"));
  const subjects = memberOf(statement, "subject");
  const named =
    Array.isArray(subjects) && subjects.some((subject) => memberOf(memberOf(subject, "digest"), "sha256") === hex);
  if (!named) throw new Error("the attestation names other files");
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function readArtifact(fd: number, bytes: number): Buffer {
  const artifact = Buffer.alloc(bytes);
  let at = 0;
  for (const chunk of readChunks(fd)) at += chunk.copy(artifact, at);
  return artifact;
}

function readTrustedRoot({ trustedRoot, trustedRootDigest }: SigstoreSettings): Buffer {
  const bytes = readPlainFile(trustedRoot, defaults.sigstoreFileBytes);
  if (bytes === undefined) throw new Error("the trusted root is not there");
  if (digestBytes(bytes) !== trustedRootDigest) throw new Error("the trusted root is not the one that policy names");
  return bytes;
}
