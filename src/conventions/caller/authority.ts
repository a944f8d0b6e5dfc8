import { showIdentifier } from "../../kernel/display.ts";

/**
 * Who vouches for the image *file* of a caller. Nothing here vouches for the process: what it has loaded, been told
 * or been made to do is its own.
 */
export type Authority =
  /** An operator signed this digest into policy. */
  | { readonly kind: "enrolled"; readonly name: string; readonly by: string | null }
  /** A signature of an identity that policy trusts, checked against the operator's trust root. */
  | { readonly kind: "sigstore"; readonly name: string; readonly subject: string; readonly issuer: string }
  /** The file's `security.ima` signature, checked against a key that policy names. */
  | { readonly kind: "ima"; readonly name: string; readonly keyId: string }
  /** The kernel reads this file only as its own keyring signed it. */
  | { readonly kind: "fs_verity"; readonly digest: string }
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
  /** Nobody signed it, and it is byte for byte the Node that this gateway itself runs on. */
  | { readonly kind: "own_runtime" }
  | { readonly kind: "unsigned"; readonly note: string | null }
  /** Something claims to vouch for the file and is wrong. */
  | { readonly kind: "invalid"; readonly claim: string; readonly why: string };

export type CallerValidity = "valid" | "package_record" | "unsigned" | "invalid";

export interface Interpreter {
  /** What the program is called, such as `node`. */
  readonly name: string;
  /** The script as the command line names it; null when there is none or it cannot be told. */
  readonly script: string | null;
}

export function validityOf(authority: Authority): CallerValidity {
  switch (authority.kind) {
    case "enrolled":
    case "sigstore":
    case "ima":
    case "fs_verity":
    case "code_signature":
      return "valid";
    case "package":
      return "package_record";
    case "own_runtime":
    case "unsigned":
    case "ad_hoc":
      return "unsigned";
    case "invalid":
      return "invalid";
  }
}

/** The first line of a card. It speaks of the image file only and never calls the caller signed. */
export function authorityLine({
  authority,
  interpreter,
}: {
  readonly authority: Authority;
  readonly interpreter: Interpreter | null;
}): string {
  const claim = claimOf(authority, interpreter?.name ?? null);
  if (interpreter === null) return claim;
  return `${claim}, running ${interpreter.script === null ? "a program" : "a script"} that no signature covers`;
}

function claimOf(authority: Authority, interpreter: string | null): string {
  switch (authority.kind) {
    case "enrolled": {
      const by = authority.by === null ? "" : ` by ${showIdentifier(authority.by)}`;
      return `Image enrolled${by} as ${showIdentifier(authority.name)}`;
    }
    case "sigstore":
      return `Image signed (Sigstore) by ${showIdentifier(authority.subject)}, vouched for by ${showIdentifier(authority.issuer)}, trusted as ${showIdentifier(authority.name)}`;
    case "ima":
      return `Image signed (IMA) by ${showIdentifier(authority.name)}, key ${showIdentifier(authority.keyId)}`;
    case "fs_verity":
      return "Image signed by a key in this machine's kernel (fs-verity)";
    case "code_signature": {
      const team = authority.team === null ? "" : `, team ${showIdentifier(authority.team)}`;
      return `Image signed by ${showIdentifier(authority.name)}${team}`;
    }
    case "ad_hoc":
      return "Ad-hoc signature: nobody vouches for this image";
    case "package": {
      const name = `${showIdentifier(authority.package)} ${showIdentifier(authority.version)}`;
      const image = interpreter === null ? name : `${showIdentifier(interpreter)} (${name})`;
      return `${showIdentifier(authority.vendor)}'s ${image}, by package record, not a signature`;
    }
    case "own_runtime":
      return "This gateway's own Node";
    case "unsigned":
      return authority.note === null
        ? "Unsigned: nobody vouches for this image"
        : `Unsigned: nobody vouches for this image (${showIdentifier(authority.note)})`;
    case "invalid":
      return `INVALID ${showIdentifier(authority.claim)}: ${showIdentifier(authority.why)}`;
  }
}
