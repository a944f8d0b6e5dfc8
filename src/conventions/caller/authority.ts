import { showIdentifier } from "../../kernel/display.ts";
import type { CallerEvidence, CallerValidity } from "./evidence.ts";

/**
 * Who vouches for the image *file* of a caller. Nothing here vouches for the process: what it has loaded, been told
 * or been made to do is its own.
 */
export type Authority =
  /** An operator signed this digest into policy. */
  | { readonly kind: "enrolled"; readonly name: string; readonly by: string | null }
  /** A signature of an identity that policy trusts, checked against the operator's trust root. */
  | { readonly kind: "sigstore"; readonly name: string; readonly subject: string; readonly issuer: string }
  /** The kernel enforces this file's content under a key in its own keyring. */
  | { readonly kind: "kernel"; readonly facility: "ima" | "fs-verity"; readonly keyId: string | null }
  /** macOS code signing. `ad-hoc` has no authority at all. */
  | { readonly kind: "code_signature"; readonly name: string; readonly team: string | null }
  | { readonly kind: "ad_hoc" }
  /** The package manager's database says so, and the file agrees with it. Root wrote that database; nobody signed it. */
  | {
      readonly kind: "package";
      readonly vendor: string;
      readonly package: string;
      readonly version: string;
      readonly record: "dpkg" | "rpm";
    }
  | { readonly kind: "unsigned"; readonly note: string | null }
  /** Something claims to vouch for the file and is wrong. */
  | { readonly kind: "invalid"; readonly claim: string; readonly why: string };

export function validityOf(authority: Authority): CallerValidity {
  switch (authority.kind) {
    case "enrolled":
    case "sigstore":
    case "kernel":
    case "code_signature":
      return "valid";
    case "package":
      return "package_record";
    case "unsigned":
    case "ad_hoc":
      return "unsigned";
    case "invalid":
      return "invalid";
  }
}

/** The first line of a card. It speaks of the image file only and never calls the caller signed. */
export function authorityLine(evidence: Pick<CallerEvidence, "authority" | "interpreter">): string {
  const claim = claimOf(evidence.authority);
  if (evidence.interpreter === null) return claim;
  const name = showIdentifier(evidence.interpreter.name);
  return `${claim}; it is ${name}, an interpreter, running ${programOf(evidence)}`;
}

function programOf({ authority, interpreter }: Pick<CallerEvidence, "authority" | "interpreter">): string {
  const what = interpreter?.script === null ? "a program" : "a script";
  return validityOf(authority) === "unsigned"
    ? `${what} that nothing covers either`
    : `${what} that no signature covers`;
}

function claimOf(authority: Authority): string {
  switch (authority.kind) {
    case "enrolled": {
      const by = authority.by === null ? "" : ` by ${showIdentifier(authority.by)}`;
      return `Image enrolled${by} as ${showIdentifier(authority.name)}`;
    }
    case "sigstore":
      return `Image signed (Sigstore) by ${showIdentifier(authority.subject)}, vouched for by ${showIdentifier(authority.issuer)}, trusted as ${showIdentifier(authority.name)}`;
    case "kernel": {
      const key = authority.keyId === null ? "" : `, key ${showIdentifier(authority.keyId)}`;
      return `Image held to its signature by the kernel (${authority.facility}${key})`;
    }
    case "code_signature": {
      const team = authority.team === null ? "" : `, team ${showIdentifier(authority.team)}`;
      return `Image signed by ${showIdentifier(authority.name)}${team}`;
    }
    case "ad_hoc":
      return "Ad-hoc signature: nobody vouches for this image";
    case "package":
      return `${showIdentifier(authority.vendor)}'s ${showIdentifier(authority.package)} ${showIdentifier(authority.version)} (package record, not a signature)`;
    case "unsigned":
      return authority.note === null
        ? "Unsigned: nobody vouches for this image"
        : `Unsigned: nobody vouches for this image (${showIdentifier(authority.note)})`;
    case "invalid":
      return `INVALID ${showIdentifier(authority.claim)}: ${showIdentifier(authority.why)}`;
  }
}
