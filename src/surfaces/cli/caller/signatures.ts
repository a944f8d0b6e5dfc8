import type { Digest } from "../../../kernel/canonical-json.ts";

/** What this machine says of signature files before they are trusted. The platform implements it; Linux alone does. */
export interface SignatureChecks {
  /** Denied `caller_signer_invalid` unless these bytes name certificate authorities and logs. */
  requireTrustedRoot(bytes: Buffer): void;
  /** Checks a bundle exactly as it would be checked for a live caller with this image. */
  checkBundle(question: BundleQuestion): BundleAnswer;
}

export interface BundleQuestion {
  readonly program: string;
  readonly bundle: Buffer;
  readonly trustedRoot: Buffer;
  readonly identities: readonly { readonly name: string; readonly subject: string; readonly issuer: string }[];
}

export interface BundleAnswer {
  readonly imageDigest: Digest;
  readonly claim:
    | { readonly kind: "valid"; readonly name: string; readonly subject: string; readonly issuer: string }
    | { readonly kind: "stranger"; readonly subject: string; readonly issuer: string }
    | { readonly kind: "invalid"; readonly why: string };
}
