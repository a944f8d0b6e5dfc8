import type { ImageDigests } from "./digest.ts";
import { findDpkgOwners, readDpkgClaim } from "./dpkg.ts";
import type { PackageClaim, PackageOwner } from "./package-claim.ts";
import { findRpmOwners, readRpmClaim } from "./rpm.ts";

/** Which of the paths belong to a package. A record is what root's package manager wrote down, not a signature. */
export async function findOwners(paths: readonly string[]): Promise<ReadonlyMap<string, PackageOwner>> {
  const owners = findDpkgOwners(paths);
  const rest = paths.filter((path) => !owners.has(path));
  for (const [path, owner] of await findRpmOwners(rest)) owners.set(path, owner);
  return owners;
}

export function readPackageClaim(owner: PackageOwner, digests: ImageDigests): PackageClaim | null {
  return owner.record === "dpkg" ? readDpkgClaim(owner, digests) : readRpmClaim(owner.found, digests);
}
