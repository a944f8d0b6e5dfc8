import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { toTrustMaterial } from "@sigstore/verify";
import type { Digest } from "../../../../kernel/canonical-json.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { digestImage } from "./digest.ts";
import { type SigstoreClaim, type SigstoreIdentity, verifyBundle } from "./sigstore.ts";
import { decodeTrustedRoot } from "./trusted-root.ts";

/** Signature files that an operator is about to trust, read as they would be read for a live caller. */
export function requireTrustedRoot(bytes: Buffer): void {
  try {
    const root = decodeTrustedRoot(JSON.parse(bytes.toString("utf8")));
    toTrustMaterial(root);
    const { certificateAuthorities, tlogs, ctlogs } = root;
    if (certificateAuthorities.length === 0 || tlogs.length === 0 || ctlogs.length === 0) {
      throw new Error("it names no certificate authority, no signature log or no certificate log");
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be read";
    throw new Denied("caller_signer_invalid", `This is not a trusted root: ${why}.`);
  }
}

export function checkGivenBundle(question: {
  readonly program: string;
  readonly bundle: Buffer;
  readonly trustedRoot: Buffer;
  readonly identities: readonly SigstoreIdentity[];
}): { readonly imageDigest: Digest; readonly claim: SigstoreClaim } {
  const fd = openSync(question.program, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > defaults.callerImageBytes)
      throw new Denied("caller_signer_invalid", `${question.program} is no program that a caller could be.`);
    const digests = digestImage(fd, false);
    return { imageDigest: digests.sha256 as Digest, claim: verifyBundle(question, fd, digests) };
  } finally {
    closeSync(fd);
  }
}
