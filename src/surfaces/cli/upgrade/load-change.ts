import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pack } from "../../../conventions/action/pack.ts";
import { readPack } from "../../../conventions/action/read.ts";
import { placesOf, shareRequests } from "../../../conventions/upgrade/pack/compare-packs.ts";
import type { Digest } from "../../../kernel/canonical-json.ts";
import type { Random } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { readPlainFile } from "../../../vault/files/private-file.ts";
import { lastTrusted, type PackTrust, type Policy } from "../../../vault/policy/policy.ts";
import type { NamedBytes } from "./review-thread.ts";

/** One pack on its way from what was trusted to what is to be. */
export interface PackChange {
  readonly after: Pack;
  readonly afterFile: NamedBytes;
  /** The name of what it is compared with: its own, or that of a pack which goes to the same place. */
  readonly of: string;
  /** What policy says was trusted last, also when its trust was taken away since. */
  readonly beforeDigest: Digest;
  /** Null where the bytes behind that digest are gone: then everything is new. */
  readonly before: Pack | null;
  readonly beforeFile: NamedBytes | null;
}

/** Null where nothing was ever trusted under this name or for the places where it goes, or exactly these bytes. */
export function loadChange(home: string, after: Pack, bytes: Uint8Array, policy: Policy): PackChange | null {
  const own = lastTrusted(policy, after.name);
  const trust = own === null ? nearestTrusted(home, after, policy) : { pack: after.name, digest: own };
  if (trust === null || trust.digest === after.digest) return null;
  const kept = readTrustedCopy(home, trust.pack, trust.digest);
  return {
    after,
    afterFile: { name: `${after.name}.yaml`, bytes },
    of: trust.pack,
    beforeDigest: trust.digest,
    before: kept?.pack ?? null,
    beforeFile: kept?.file ?? null,
  };
}

/**
 * A name is no boundary: a pack that goes where a trusted one goes is compared with the one it shares most requests with.
 * Where the bytes of a trusted pack are gone, nobody can say that this is not the same place.
 */
function nearestTrusted(home: string, after: Pack, policy: Policy): PackTrust | null {
  const places = placesOf(after);
  let nearest: { readonly trust: PackTrust; readonly common: number } | null = null;
  for (const trust of [...policy.packs, ...policy.formerPacks]) {
    const kept = readTrustedCopy(home, trust.pack, trust.digest)?.pack ?? null;
    if (kept !== null && ![...placesOf(kept)].some((place) => places.has(place))) continue;
    const common = kept === null ? Number.POSITIVE_INFINITY : shareRequests(kept, after);
    if (nearest === null || common > nearest.common) nearest = { trust, common };
  }
  return nearest?.trust ?? null;
}

/** The same, for the commands that prepare what `gw pack trust` will ask for. */
export function changeOf(home: string, name: string, random: Random): PackChange {
  const opened = openHome(home, random);
  const file = join(home, "packs", `${name}.yaml`);
  const bytes = readOrNull(file);
  const pack = bytes === null ? null : readPack(bytes, `${name}.yaml`).pack;
  if (bytes === null || pack === null)
    throw new Denied("pack_malformed", `${file} is no sound pack. Add the new one first: gw pack add FILE`);
  const change = loadChange(home, pack, bytes, opened.readPolicy(opened.readVault()));
  if (change === null)
    throw new Denied(
      "review_mismatch",
      `Nothing else was trusted as ${name} or for where it goes: gw pack trust ${name} asks for no review.`,
    );
  return change;
}

/** Kept beside the packs, to be compared with the next one. It is believed only while policy names its digest. */
export function keepTrustedCopy(home: string, name: string, bytes: Buffer): void {
  const folder = join(home, "packs", "trusted");
  makeFolder(folder);
  writeFileSync(join(folder, `${name}.yaml`), bytes, { mode: 0o600 });
}

/** A home may be older than such copies: what is about to be written over may be the trusted pack. */
export function keepReplaced(home: string, name: string): void {
  const [kept, standing] = [join("trusted", `${name}.yaml`), `${name}.yaml`].map((place) =>
    readOrNull(join(home, "packs", place)),
  );
  if (kept === null && standing !== null && standing !== undefined) keepTrustedCopy(home, name, standing);
}

/** By its digest: the copy that was kept, or the file that stands in the home while it is still the trusted one. */
export function readTrustedCopy(
  home: string,
  name: string,
  digest: Digest,
): { readonly pack: Pack; readonly file: NamedBytes } | null {
  for (const place of [join("trusted", `${name}.yaml`), `${name}.yaml`]) {
    const bytes = readOrNull(join(home, "packs", place));
    const pack = bytes === null ? null : readPack(bytes, `${name}.yaml`).pack;
    if (bytes !== null && pack?.digest === digest) return { pack, file: { name: `${name}.yaml`, bytes } };
  }
  return null;
}

function readOrNull(path: string): Buffer | null {
  try {
    return readPlainFile(path, defaults.packBytes) ?? null;
  } catch {
    return null;
  }
}
