export type PackageOwner =
  | {
      readonly record: "dpkg";
      readonly package: string;
      /** The file as dpkg names it, which may be its name before a merged /usr. */
      readonly file: string;
    }
  | { readonly record: "rpm"; readonly found: RpmRecord };

export interface PackageClaim {
  readonly record: "dpkg" | "rpm";
  readonly package: string;
  readonly version: string;
  readonly vendor: string;
  /** Whether the image's bytes are those that the record names; null when the record names none. */
  readonly matches: boolean | null;
}

export interface RpmRecord {
  readonly package: string;
  readonly version: string;
  readonly vendor: string;
  /** Hex, of the length that the package's digest algorithm gives. */
  readonly digest: string;
}
