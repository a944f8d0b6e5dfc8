import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { requireSignatures } from "../scripts/package/signatures.ts";
import { asUser } from "./support/home.ts";

const root = join(import.meta.dirname, "..");
const gw = join(root, "bin", "gw");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

test("the package has a name that is ours alone, and nothing tells people to ask a registry for gw", () => {
  const { name } = JSON.parse(read("package.json")) as { readonly name: string };
  const lock = JSON.parse(read("package-lock.json")) as { readonly name: string };
  assert.deepEqual([name, lock.name], ["@agent-action-gateway/gw", "@agent-action-gateway/gw"]);
  const texts = [
    "src",
    "demo",
    "packages/request/src",
    "packages/reference/src",
    "packages/conformance/src",
    "docs",
    "scripts",
    "packs",
    "bin",
  ].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  const telling = [...texts, join(root, "README.md")].filter((file) =>
    /npx\s+(-\S+\s+)*gw/.test(readFileSync(file, "utf8")),
  );
  assert.deepEqual(telling, []);
});

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "gw-supply-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** As much of a clone as it takes to install. */
function cloneFor(t: TestContext): string {
  const folder = folderFor(t);
  for (const part of ["scripts/setup.mjs", "package.json", "package-lock.json", "bin/node-digests.json"]) {
    cpSync(join(root, part), join(folder, part));
  }
  return folder;
}

test("in a clone that whoever starts it cannot write, that is said and nothing is tried", asUser, (t) => {
  const folder = cloneFor(t);
  chmodSync(folder, 0o555);
  const done = spawnSync(process.execPath, [join(folder, "scripts/setup.mjs"), "start"], { encoding: "utf8" });
  chmodSync(folder, 0o755);
  assert.equal(done.status, 1, done.stderr);
  assert.match(done.stderr, /^setup: you cannot write to \S+, so nothing can be installed there\. Clone it/);
});

test("a pinned Node that is not the released one is never started", (t) => {
  const folder = cloneFor(t);
  const node = join(folder, "node_modules", "node", "bin", "node");
  mkdirSync(join(node, ".."), { recursive: true });
  writeFileSync(node, `#!/bin/sh\ntouch ${join(folder, "started")}\necho v24.21.0\n`, { mode: 0o755 });
  // An npm that has nothing to do: what it would have brought is there already.
  writeFileSync(join(folder, "npm"), "#!/bin/sh\nexit 0\n");
  chmodSync(join(folder, "npm"), 0o755);
  const env = { ...process.env, PATH: `${folder}:${process.env["PATH"]}` };
  const done = spawnSync(process.execPath, [join(folder, "scripts/setup.mjs"), "install"], { encoding: "utf8", env });
  assert.equal(done.status, 1, done.stderr);
  assert.match(done.stderr, /is not the Node that this release names/);
  assert.equal(existsSync(join(folder, "started")), false);
});

test("gw setup-shell puts this very program on the path, once, and takes it back", (t) => {
  const home = folderFor(t);
  const profile = join(home, ".bashrc");
  // In Latin-1, as an older account may have it: no byte of it is ours to change.
  const own = Buffer.from("alias ll='ls -l' # caf\xe9", "latin1");
  writeFileSync(profile, own);
  const env = { ...process.env, HOME: home, SHELL: "/bin/bash" };
  const setup = (...more: string[]): string => execFileSync(gw, ["setup-shell", ...more], { encoding: "utf8", env });
  setup();
  setup();
  assert.equal(readlinkSync(join(home, ".local/bin/gw")), gw);
  const text = readFileSync(profile, "utf8");
  assert.equal(text.split(".local/bin").length, 2, text);
  const shown = execFileSync("bash", ["-c", `. ${profile} && gw --version`], { encoding: "utf8", env }).trim();
  assert.equal(shown, (JSON.parse(read("package.json")) as { readonly version: string }).version);
  setup("--undo");
  assert.equal(existsSync(join(home, ".local/bin/gw")), false);
  assert.deepEqual(readFileSync(profile), Buffer.concat([own, Buffer.from("\n")]));
});

test("gw setup-shell replaces nobody else's gw", (t) => {
  const home = folderFor(t);
  mkdirSync(join(home, ".local/bin"), { recursive: true });
  writeFileSync(join(home, ".local/bin/gw"), "theirs");
  const done = spawnSync(gw, ["setup-shell"], {
    encoding: "utf8",
    env: { ...process.env, HOME: home, SHELL: "/bin/bash" },
  });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /^shell_program_foreign: /);
  assert.equal(readFileSync(join(home, ".local/bin/gw"), "utf8"), "theirs");
});

test("a package is made only of what the registry signed, where one answers; where none does that is said, and a release is refused", (t) => {
  const folder = folderFor(t);
  const path = process.env["PATH"];
  process.env["PATH"] = `${folder}:${path}`;
  const check = (npm: string, how: string): string => {
    const script = `#!/bin/sh\n[ "$1 $2" = "audit signatures" ] || exit 9\n${npm}\n`;
    writeFileSync(join(folder, "npm"), script, { mode: 0o755 });
    const said: string[] = [];
    requireSignatures(root, how, (line) => said.push(line));
    return said.join();
  };
  const silent = "echo 'npm error code ECONNREFUSED' >&2; exit 1";
  try {
    assert.throws(() => check('echo "1 package has an invalid registry signature:"; exit 1', "wanted"), /not what/);
    assert.match(check('echo "98 packages have verified registry signatures"', "required"), /^signatures: verified/);
    assert.match(check(silent, "wanted"), /^signatures: NOT CHECKED/);
    assert.throws(() => check(silent, "required"), /nothing was made/);
  } finally {
    process.env["PATH"] = path;
  }
});
