import assert from "node:assert/strict";
import { type ExecFileSyncOptionsWithStringEncoding, execFile, execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { type NpmRegistry, serveNpmRegistry } from "./support/npm-registry.ts";

const root = join(import.meta.dirname, "..");

/** Runs as the invoking user: npm has to reach its registry, which is that user's configuration. */
test("the packed package installs into an empty folder and its programs run from there", {
  timeout: 600_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-package-"));
  let registry: NpmRegistry | undefined;
  try {
    // A copy, so that building does not touch the clone that other tests run from.
    const copy = join(folder, "clone");
    cpSync(root, copy, {
      recursive: true,
      filter: (path) => !/\/(node_modules|dist|\.git)(\/|$)/.test(path.slice(root.length)),
    });
    execFileSync("ln", ["-s", join(root, "node_modules"), join(copy, "node_modules")]);
    const quiet: ExecFileSyncOptionsWithStringEncoding = { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
    execFileSync(process.execPath, [join(copy, "scripts", "build.ts")], { ...quiet, cwd: copy });
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
    const install = ["install", ...quietly, scope, registry.direct, "@agent-action-gateway/gw"];
    await promisify(execFile)("npm", install, { cwd: empty });
    const gw = join(empty, "node_modules", ".bin", "gw");
    const version = execFileSync(gw, ["--version"], quiet).trim();
    const { version: wanted } = JSON.parse(execFileSync("cat", [join(root, "package.json")], quiet)) as {
      version: string;
    };
    assert.equal(version, wanted);
    assert.match(execFileSync(gw, ["--help"], quiet), /approve/);
    const lint = execFileSync(
      gw,
      ["pack", "lint", join(empty, "node_modules/@agent-action-gateway/gw/packs/example.yaml")],
      quiet,
    );
    assert.match(lint, /digest sha256:/);
    // What a host gets is one file that stands alone: it runs where nothing else of the package is.
    const receiver = join(folder, "gw-receiver.mjs");
    cpSync(join(empty, "node_modules/@agent-action-gateway/gw/dist/gw-receiver.mjs"), receiver);
    const refused = spawnSync(process.execPath, [receiver], { encoding: "utf8", env: {}, input: "{}\n" });
    assert.match(refused.stdout, /"frame":"refused".*"code":"manifest_invalid"/, refused.stderr);
    const client = "import('@agent-action-gateway/gw/client').then((m) => console.log(typeof m.connectAgent))";
    assert.equal(execFileSync(process.execPath, ["-e", client], { ...quiet, cwd: empty }).trim(), "function");
  } finally {
    registry?.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
