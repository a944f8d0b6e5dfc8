import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import type { ImageDigests } from "./digest.ts";
import type { PackageClaim, PackageOwner, RpmRecord } from "./package-claim.ts";

const RPM = "/usr/bin/rpm";
const TIMEOUT_MS = 10_000;
const OUTPUT_LIMIT = 8_388_608;
// A line about the package, then a line for each of its files.
const FORMAT = "%{NAME}\\t%{VERSION}-%{RELEASE}\\t%{VENDOR}\\n[%{FILENAMES}\\t%{FILEDIGESTS}\\n]";

/** Asks rpm itself: its database has no stable form to read. Runs by absolute path, without environment, bounded. */
export async function findRpmOwners(paths: readonly string[]): Promise<ReadonlyMap<string, PackageOwner>> {
  const owners = new Map<string, PackageOwner>();
  if (!existsSync(RPM)) return owners;
  for (const path of paths) {
    const found = parseRpm(await query(path), path);
    if (found !== undefined) owners.set(path, { record: "rpm", found });
  }
  return owners;
}

export function readRpmClaim(found: RpmRecord, digests: ImageDigests): PackageClaim {
  const hex = digests.sha256.slice("sha256:".length);
  // Older packages carry shorter digests; those prove nothing here.
  const matches = found.digest.length === hex.length ? found.digest === hex : null;
  return { record: "rpm", package: found.package, version: found.version, vendor: found.vendor, matches };
}

export function parseRpm(answer: string, path: string): RpmRecord | undefined {
  const [header = "", ...files] = answer.split("\n");
  const [name, version, vendor] = header.split("\t");
  if (name === undefined || version === undefined || vendor === undefined) return undefined;
  for (const entry of files) {
    const tab = entry.lastIndexOf("\t");
    if (tab > 0 && entry.slice(0, tab) === path) {
      return { package: name, version, vendor, digest: entry.slice(tab + 1) };
    }
  }
  return undefined;
}

async function query(path: string): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)(RPM, ["-qf", "--queryformat", FORMAT, "--", path], {
      env: {},
      timeout: TIMEOUT_MS,
      maxBuffer: OUTPUT_LIMIT,
    });
    return stdout;
  } catch {
    return "";
  }
}
