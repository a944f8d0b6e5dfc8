import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { constants, gzipSync, zstdCompressSync } from "node:zlib";
import { stateMigrations } from "../../src/adapters/store/sqlite/state-schema.ts";
import { arOf, tarOf } from "./pack-files.ts";

/** Debian's word for a machine. */
const MACHINES: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" };

export interface DebianParts {
  readonly version: string;
  readonly epochS: number;
  /** The tree that is installed. */
  readonly tree: string;
  /** Where the control files are put together. */
  readonly control: string;
  readonly sources: string;
}

export function debianName(version: string): string {
  return `gw_${version}_${machine()}.deb`;
}

/** A Debian package from the tree, by tar and nothing else: no network, no tool that adds a time of its own. */
export function debianPackage({ version, epochS, tree, control, sources }: DebianParts): Buffer {
  mkdirSync(control);
  const files = readdirSync(tree, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  const bytes = files.map((file) => readFileSync(file));
  const kib = Math.ceil(bytes.reduce((sum, { length }) => sum + Math.ceil(length / 1024), 0));
  const sums = files.map((file, index) => `${md5(bytes[index] ?? Buffer.alloc(0))}  ${relative(tree, file)}\n`);
  writeFileSync(join(control, "control"), controlFile(version, kib));
  writeFileSync(join(control, "md5sums"), sums.join(""));
  writeFileSync(join(control, "conffiles"), "/etc/gw/gw.yaml\n");
  for (const script of ["preinst", "postinst", "prerm", "postrm"]) {
    const text = readFileSync(join(sources, "debian", script), "utf8");
    const filled = text.replaceAll("@STATE_FORMAT@", String(stateMigrations.length)).replaceAll("@VERSION@", version);
    writeFileSync(join(control, script), filled, { mode: 0o755 });
  }
  const level = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };
  return arOf(epochS, [
    { name: "debian-binary", bytes: Buffer.from("2.0\n") },
    { name: "control.tar.gz", bytes: gzipSync(tarOf(control, epochS)) },
    { name: "data.tar.zst", bytes: zstdCompressSync(tarOf(tree, epochS), level) },
  ]);
}

/** What the pinned Node and the koffi library link to; the rest of a Debian system is there in any case. */
function controlFile(version: string, kib: number): string {
  return `Package: gw
Version: ${version}
Architecture: ${machine()}
Maintainer: The gw authors <authors@gw.invalid>
Installed-Size: ${kib}
Depends: libc6 (>= 2.28), libstdc++6, libgcc-s1, passwd, util-linux
Recommends: openssh-client, man-db
Section: admin
Priority: optional
Description: gateway through which autonomous agents act without holding a secret
 Agents name an action, a person approves it, the gateway sends it with the
 credential that only it can open, and an append-only log proves what was done.
 The package brings its own Node.js and fetches nothing.
`;
}

function machine(): string {
  const found = MACHINES[process.arch];
  if (process.platform !== "linux" || found === undefined) {
    throw new Error(`there is no Debian package for ${process.platform} on ${process.arch}`);
  }
  return found;
}

function md5(bytes: Buffer): string {
  return createHash("md5").update(bytes).digest("hex");
}
