import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ImageDigests } from "./digest.ts";
import type { PackageClaim, PackageOwner } from "./package-claim.ts";

type DpkgOwner = Extract<PackageOwner, { readonly record: "dpkg" }>;

const ADMIN = "/var/lib/dpkg";
const MERGED = ["/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/libx32/"];

/** Looks through dpkg's file lists once for all paths. Lines are matched whole, never as patterns. */
export function findDpkgOwners(paths: readonly string[], admin = ADMIN): Map<string, PackageOwner> {
  const wanted = new Map<string, string>();
  for (const path of paths) for (const name of namesOf(path)) wanted.set(name, path);
  const owners = new Map<string, PackageOwner>();
  if (wanted.size === 0) return owners;
  for (const list of listFiles(admin)) {
    const text = readText(join(admin, "info", list));
    for (const line of text.split("\n")) {
      const path = wanted.get(line);
      if (path !== undefined && !owners.has(path)) {
        owners.set(path, { record: "dpkg", package: list.slice(0, -".list".length), file: line });
      }
    }
  }
  return owners;
}

/** Name, version and vendor of the installed package, and whether the image has the bytes that it was installed with. */
export function readDpkgClaim(owner: DpkgOwner, digests: ImageDigests, admin = ADMIN): PackageClaim | null {
  const [name = "", architecture] = owner.package.split(":");
  const fields = findStanza(readText(join(admin, "status")), name, architecture);
  if (fields === undefined || !fields.get("Status")?.endsWith(" installed")) return null;
  const expected = findMd5(readText(join(admin, "info", `${owner.package}.md5sums`)), owner.file);
  return {
    record: "dpkg",
    package: name,
    version: fields.get("Version") ?? "",
    vendor: vendorOf(fields.get("Maintainer") ?? ""),
    matches: expected === undefined || digests.md5 === null ? null : expected === digests.md5,
  };
}

/** With a merged /usr the kernel says /usr/bin/x where older packages list /bin/x. */
function namesOf(path: string): readonly string[] {
  return MERGED.some((prefix) => path.startsWith(prefix)) ? [path, path.slice("/usr".length)] : [path];
}

function listFiles(admin: string): readonly string[] {
  try {
    return readdirSync(join(admin, "info")).filter((name) => name.endsWith(".list"));
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function findMd5(text: string, file: string): string | undefined {
  for (const line of text.split("\n")) if (line.slice(34) === file.slice(1)) return line.slice(0, 32);
  return undefined;
}

function findStanza(
  status: string,
  name: string,
  architecture: string | undefined,
): ReadonlyMap<string, string> | undefined {
  for (const stanza of status.split("\n\n")) {
    if (!stanza.startsWith(`Package: ${name}\n`)) continue;
    const fields = new Map<string, string>();
    for (const line of stanza.split("\n")) {
      const colon = line.indexOf(": ");
      if (colon > 0 && !line.startsWith(" ")) fields.set(line.slice(0, colon), line.slice(colon + 2));
    }
    if (architecture === undefined || fields.get("Architecture") === architecture) return fields;
  }
  return undefined;
}

/** A distribution is named only where its own domain maintains the package; anybody else by what they call themselves. */
function vendorOf(maintainer: string): string {
  if (/@(?:[a-z.-]+\.)?debian\.org>$/.test(maintainer)) return "Debian";
  if (/@(?:[a-z.-]+\.)?(?:ubuntu|canonical)\.com>$/.test(maintainer)) return "Ubuntu";
  return maintainer === "" ? "an unnamed maintainer" : maintainer;
}
