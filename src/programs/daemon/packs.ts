import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Pack } from "../../conventions/action/pack.ts";
import { placePack } from "../../conventions/action/place.ts";
import { readPack } from "../../conventions/action/read.ts";
import type { Definition, PackBook } from "../../gateway/outbound/outbound.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import { readPlainFile } from "../../vault/files/private-file.ts";
import { isPackTrusted, type PackTrust, type Policy } from "../../vault/policy/policy.ts";

/** Why a file in the packs folder is not in force. */
export interface PackTrouble {
  readonly file: string;
  readonly why: string;
}

export interface LoadedPacks {
  readonly book: PackBook;
  readonly troubles: readonly PackTrouble[];
  /** What the system did not let us read: none of it is in force, and it may be there at the next look. */
  readonly unread: Denied | null;
}

/** Packs are trusted by the digest of their exact bytes; any other file in the folder is listed and not used. */
export function loadPacks(folder: string, policy: Policy | null): LoadedPacks {
  const packs = new Map<string, Pack>();
  const troubles: PackTrouble[] = [];
  let unread: Denied | null = null;
  const files = unlessUnread(() => listPackFiles(folder));
  if (files instanceof Denied) {
    troubles.push({ file: folder, why: files.message });
    unread = files;
  }
  for (const file of files instanceof Denied ? [] : files) {
    const bytes = unlessUnread(() => readPackFile(join(folder, file)));
    if (bytes instanceof Denied) {
      troubles.push({ file, why: bytes.message });
      if (bytes.code === "file_unusable") unread = bytes;
      continue;
    }
    const { pack, findings } = readPack(bytes, file);
    const broken = findings.find(({ severity }) => severity === "error");
    if (pack === null) troubles.push({ file, why: broken?.message ?? "it cannot be read" });
    else if (policy === null || !isPackTrusted(policy, pack.name, pack.digest)) {
      const old = unlessUnread(() => readTrusted(folder, pack.name, policy));
      if (old instanceof Denied) {
        troubles.push({ file, why: old.message });
        unread = old;
        continue;
      }
      if (old !== null) packs.set(pack.name, old);
      const why = old === null ? "not trusted as it is" : "the new version waits, the old one serves";
      troubles.push({ file, why: `${why} (gw pack trust ${pack.name})` });
    } else packs.set(pack.name, pack);
  }
  const placed = [...packs.values()].map((pack) =>
    placePack(
      pack,
      policy?.places.find((place) => place.pack === pack.name),
    ),
  );
  return { book: bookOf(placed), troubles, unread };
}

function unlessUnread<Read>(read: () => Read): Read | Denied {
  try {
    return read();
  } catch (error) {
    const denied = deniedByFiles(error);
    if (denied === undefined) throw error;
    return denied;
  }
}

/** The version that was trusted, kept beside the packs. It is believed by its digest alone. */
function readTrusted(folder: string, name: string, policy: Policy | null): Pack | null {
  const bytes = readPackFile(join(folder, "trusted", `${name}.yaml`));
  const pack = bytes instanceof Denied ? null : readPack(bytes, `${name}.yaml`).pack;
  const trusted = pack !== null && policy !== null && pack.name === name && isPackTrusted(policy, name, pack.digest);
  return trusted ? pack : null;
}

/** The exact bytes that the policy trusts under this name, as far as this host has them. */
export function findTrustedBytes(folder: string, { pack: name, digest }: PackTrust): Buffer | null {
  for (const at of [folder, join(folder, "trusted")]) {
    const bytes = readPackFile(join(at, `${name}.yaml`));
    if (!(bytes instanceof Denied) && digestBytes(bytes) === digest) return bytes;
  }
  return null;
}

/** A planted link, folder, pipe or device is named and holds nobody up. */
export function readPackFile(path: string): Buffer | Denied {
  try {
    return readPlainFile(path, defaults.packBytes) ?? new Denied("file_not_regular", "it went away");
  } catch (error) {
    if (error instanceof Denied) return error;
    throw error;
  }
}

function bookOf(packs: readonly Pack[]): PackBook {
  const definitions = new Map<string, Definition>();
  for (const pack of packs) {
    for (const action of pack.actions.values()) definitions.set(action.qualifiedName, { pack, action });
  }
  const sorted = [...definitions.values()].sort((a, b) => (a.action.qualifiedName < b.action.qualifiedName ? -1 : 1));
  return { find: (name) => definitions.get(name) ?? null, all: () => sorted };
}

function listPackFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".yaml"))
      .sort();
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return [];
    throw error;
  }
}
