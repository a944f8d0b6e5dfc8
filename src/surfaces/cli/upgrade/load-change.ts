import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pack } from "../../../conventions/action/pack.ts";
import { readPack } from "../../../conventions/action/read.ts";
import type { Digest } from "../../../kernel/canonical-json.ts";
import type { Random } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome } from "../../../vault/files/home.ts";
import { readPlainFile } from "../../../vault/files/private-file.ts";
import { lastTrusted, type Policy } from "../../../vault/policy/policy.ts";
import type { NamedBytes } from "./review-thread.ts";

/** One pack on its way from what was trusted to what is to be. */
export interface PackChange {
  readonly after: Pack;
  readonly afterFile: NamedBytes;
  /** What policy says was trusted last, also when its trust was taken away since. */
  readonly beforeDigest: Digest;
  /** Null where the bytes behind that digest are gone: then everything is new. */
  readonly before: Pack | null;
  readonly beforeFile: NamedBytes | null;
}

/** Null where nothing was ever trusted under this name, or exactly these bytes. */
export function loadChange(home: string, after: Pack, bytes: Uint8Array, policy: Policy): PackChange | null {
  const beforeDigest = lastTrusted(policy, after.name);
  if (beforeDigest === null || beforeDigest === after.digest) return null;
  const kept = readTrustedCopy(home, after.name, beforeDigest);
  const afterFile = { name: `${after.name}.yaml`, bytes };
  return { after, afterFile, beforeDigest, before: kept?.pack ?? null, beforeFile: kept?.file ?? null };
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
      `Nothing else was trusted as ${name} before: gw pack trust ${name} asks for no review.`,
    );
  return change;
}

/** Kept beside the packs, to be compared with the next one. It is believed only while policy names its digest. */
export function keepTrustedCopy(home: string, name: string, bytes: Buffer): void {
  const folder = join(home, "packs", "trusted");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, `${name}.yaml`), bytes, { mode: 0o600 });
}

/** A home may be older than such copies: what is about to be written over may be the trusted pack. */
export function keepReplaced(home: string, name: string): void {
  const [kept, standing] = [join("trusted", `${name}.yaml`), `${name}.yaml`].map((place) =>
    readOrNull(join(home, "packs", place)),
  );
  if (kept === null && standing !== null && standing !== undefined) keepTrustedCopy(home, name, standing);
}

/** The copy that was kept, or the file that stands in the home while it is still the trusted one. */
function readTrustedCopy(
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
