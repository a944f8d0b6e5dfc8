import assert from "node:assert/strict";
import { type ExecFileSyncOptionsWithStringEncoding, execFile, execFileSync, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { builtClone } from "./support/made.ts";
import { type NpmRegistry, serveNpmRegistry } from "./support/npm-registry.ts";
import { whole } from "./support/whole.ts";

const root = join(import.meta.dirname, "..");

/** Types of the exported module, and whatever they name in turn, that are not there. */
function missingTypes(dist: string): readonly string[] {
  const found = [join(dist, "src", "surfaces", "client", "agent.d.ts")];
  for (const file of found) {
    if (!existsSync(file)) continue;
    for (const [, named = ""] of readFileSync(file, "utf8").matchAll(/(?:from |import\()"(\.[^"]+)\.ts"/g)) {
      const next = join(dirname(file), `${named}.d.ts`);
      if (!found.includes(next)) found.push(next);
    }
  }
  assert.ok(found.length > 10);
  return found.filter((file) => !existsSync(file));
}

/** Runs as the invoking user: npm has to reach its registry, which is that user's configuration. */
test("the packed package installs into an empty folder and its programs run from there", {
  timeout: 600_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-package-"));
  let registry: NpmRegistry | undefined;
  try {
    const copy = await builtClone(folder);
    const quiet: ExecFileSyncOptionsWithStringEncoding = { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
    execFileSync("npm", ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", folder], {
      ...quiet,
      cwd: copy,
    });
    const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
    assert.ok(tarball !== undefined);
    const empty = mkdtempSync(join(folder, "empty-"));
    writeFileSync(join(empty, "package.json"), '{ "private": true }\n');
    registry = await serveNpmRegistry([{ manifest: join(copy, "package.json"), tarball: join(folder, tarball) }]);
    const scope = `--@agent-action-gateway:registry=${registry.url}`;
    const quietly = ["--no-audit", "--no-fund", "--loglevel=error"];
    const install = ["install", ...quietly, "--prefer-offline", scope, registry.direct, "@agent-action-gateway/gw"];
    await promisify(execFile)("npm", [...install, ...(whole ? [] : ["--ignore-scripts"])], { cwd: empty });
    // The script of that package fetches a Node and puts it there, as it did for this clone; `npm run soak -- suite` has it do so again.
    const node = join(empty, "node_modules", "node", "bin", "node");
    if (!whole) {
      mkdirSync(dirname(node));
      symlinkSync(process.execPath, node);
    }
    const installed = join(empty, "node_modules", "@agent-action-gateway", "gw");
    // It runs on that Node, and on none that happens to be on somebody's path.
    const gw = (...args: readonly string[]): string =>
      execFileSync(join(empty, "node_modules", ".bin", "gw"), args, { ...quiet, env: { PATH: "/nowhere" } });
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string };
    assert.equal(gw("--version").trim(), version);
    assert.match(gw("--help"), /approve/);
    assert.match(gw("pack", "lint", join(installed, "packs", "example.yaml")), /digest sha256:/);
    // What a host gets is one file that stands alone: it runs where nothing else of the package is.
    const receiver = join(folder, "gw-receiver.mjs");
    cpSync(join(installed, "dist", "gw-receiver.mjs"), receiver);
    const refused = spawnSync(process.execPath, [receiver], { encoding: "utf8", env: {}, input: "{}\n" });
    assert.match(refused.stdout, /"frame":"refused".*"code":"manifest_invalid"/, refused.stderr);
    const client = "import('@agent-action-gateway/gw/client').then((m) => console.log(typeof m.connectAgent))";
    assert.equal(execFileSync(process.execPath, ["-e", client], { ...quiet, cwd: empty }).trim(), "function");
    assert.deepEqual(missingTypes(join(installed, "dist")), []);
  } finally {
    registry?.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
