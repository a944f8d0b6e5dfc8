import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import { billOfMaterials } from "./package/bill.ts";
import { debianName, debianPackage } from "./package/debian.ts";
import { listDependencies } from "./package/dependencies.ts";
import { tarOf } from "./package/pack-files.ts";
import { requireSignatures } from "./package/signatures.ts";
import { stageTree } from "./package/stage.ts";

/**
 * `npm run package`: a self-contained archive, a Debian package, their bill of materials and checksums, from what is
 * installed here. The same commit gives the same bytes. Where a registry answers, its signatures of what is installed are checked
 * first; where none does that is said, and `--signatures required` makes nothing.
 */
const root = join(import.meta.dirname, "..");
const { version: ours } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(root, "out") },
    version: { type: "string", default: ours },
    only: { type: "string", multiple: true, default: ["archive", "debian"] },
    signatures: { type: "string", default: "wanted" },
  },
});
const { version, only } = values;
if (!/^[0-9]+\.[0-9]+\.[0-9]+(~?[a-z0-9.]+)?$/.test(version)) throw new Error(`${version} is not a version`);
requireSignatures(root, values.signatures, (line) => console.error(line));
const out = resolve(values.out);
const epochS = readEpoch();
const work = mkdtempSync(join(tmpdir(), "gw-package-"));
try {
  const dependencies = listDependencies(root);
  const node = createHash("sha256").update(readFileSync(join(root, "node_modules", "node", "bin", "node")));
  const bill = billOfMaterials(version, epochS, dependencies, node.digest("hex"));
  const tree = join(work, "tree");
  await stageTree({ root, tree, version, epochS, dependencies, bill });
  const made = new Map<string, Buffer>([[`gw-${version}.cdx.json`, Buffer.from(bill)]]);
  if (only.includes("archive")) {
    const name = `gw-${version}-${process.platform}-${process.arch}`;
    made.set(`${name}.tar.gz`, gzipSync(tarOf(join(tree, "usr"), epochS, name)));
  }
  if (only.includes("debian")) {
    const parts = { version, epochS, tree, control: join(work, "control"), sources: join(root, "packaging") };
    made.set(debianName(version), debianPackage(parts));
  }
  mkdirSync(out, { recursive: true });
  const sums = [...made].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, bytes]) => `${sha256(bytes)}  ${name}\n`);
  for (const [name, bytes] of made) writeFileSync(join(out, name), bytes);
  writeFileSync(join(out, "SHA256SUMS"), sums.join(""));
  process.stdout.write(sums.join(""));
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** The time of the last commit stands for all: a package is as old as what it was made from. */
function readEpoch(): number {
  const given = process.env["SOURCE_DATE_EPOCH"] ?? execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root });
  const seconds = Number(String(given).trim());
  if (!Number.isSafeInteger(seconds) || seconds <= 0) {
    throw new Error("the time of the last commit is not known. Package from a clone, or set SOURCE_DATE_EPOCH.");
  }
  return seconds;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}
