import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  copyFileSync,
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
import { errorsPage } from "../scripts/errors-page.ts";
import { diagrams } from "../scripts/pictures.ts";
import { eventTypes } from "../src/audit/event.ts";
import { codes } from "../src/kernel/codes.ts";
import { defaults } from "../src/kernel/defaults.ts";

const root = join(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

test("docs/errors.md is equal to the table of codes", () => {
  assert.equal(read("docs/errors.md"), errorsPage());
});

test("the pictures of docs are those that their texts draw", () => {
  const drawn = diagrams(join(root, "docs", "pictures"));
  assert.ok(drawn.length > 0);
  for (const [file, svg] of drawn) assert.equal(readFileSync(file, "utf8"), svg, `${file}: npm run docs`);
});

test("every code says what happened and what to do next", () => {
  for (const [code, { status, means, mend }] of Object.entries(codes)) {
    assert.match(code, /^[a-z][a-z0-9_]*$/);
    assert.ok(status === 200 || (status >= 400 && status <= 599), code);
    assert.ok(means.length > 10 && mend.length > 5, code);
  }
});

test("no code is unused", () => {
  const sources = ["src", "packages", "demo"]
    .flatMap((top) =>
      readdirSync(join(root, top), { recursive: true, encoding: "utf8" }).map((file) => join(top, file)),
    )
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.endsWith("codes.ts"))
    .map(read)
    .join("\n");
  assert.deepEqual(
    Object.keys(codes).filter((code) => !sources.includes(`"${code}`) && !sources.includes(`\`${code}`)),
    [],
  );
});

test("every kind of event is written by somebody", () => {
  // The gateway and its composition root are the only writers; a name that a command merely mentions does not count.
  const sources = ["gateway", "programs"]
    .flatMap((room) =>
      readdirSync(join(root, "src", room), { recursive: true, encoding: "utf8" }).map((file) => join(room, file)),
    )
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => read(join("src", file)))
    .join("\n");
  // An attempt is written as two records, which the reader takes apart into the events that they stand for.
  const records = read("src/gateway/attempt/events.ts") + read("src/audit/read/expand.ts");
  const unwritten = eventTypes.filter(
    (type) =>
      !new RegExp(`nvelope(\\(|, )"${type}"`).test(sources) &&
      !new RegExp(`(event_type: |\\? |: )"${type}"`).test(records),
  );
  assert.deepEqual(unwritten, []);
});

test("every tunable number has its unit in its name or counts things", () => {
  for (const [name, value] of Object.entries(defaults)) assert.ok([value].flat().every(Number.isFinite), name);
});

test("the lock file and npm's settings name no registry", () => {
  // Packages of this repository are resolved to their folders, and nothing else is resolved to anything.
  const resolved = read("package-lock.json").matchAll(/"resolved": "([^"]*)"/g);
  assert.deepEqual(
    [...resolved].map((match) => match[1]).filter((place) => !place?.startsWith("packages/")),
    [],
  );
  assert.ok(!/https?:\/\//.test(read(".npmrc")));
});

test("the licence is Apache-2.0 and its text is there", () => {
  const { license } = JSON.parse(read("package.json")) as { readonly license: string };
  assert.equal(license, "Apache-2.0");
  assert.match(read("LICENSE"), /Apache License/);
});

test("what a page points to exists, and the README leads to every page", () => {
  const names = readdirSync(join(root, "docs")).filter((name) => name.endsWith(".md"));
  for (const page of ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...names.map((name) => `docs/${name}`)])
    for (const [, target = ""] of read(page).matchAll(/\]\(([a-zA-Z][\w./-]*\.(?:md|svg|png))(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(root, dirname(page), target)), `${page} points to ${target}`);
  const readme = read("README.md");
  assert.deepEqual(
    names.filter((name) => !readme.includes(`](docs/${name})`)),
    [],
  );
});

test("the launcher runs the pinned Node without the variables that could bend it", () => {
  const env = { ...process.env, NODE_OPTIONS: "--require /nowhere/evil.js", SSL_CERT_FILE: "/nowhere" };
  assert.match(execFileSync(join(root, "bin", "gw"), ["--help"], { env, encoding: "utf8" }), /^Usage: gw /);
});

test("the launcher says the version of its package, for which no Node is started", () => {
  const { version: wanted } = JSON.parse(read("package.json")) as { readonly version: string };
  const [launcher, env] = [join(root, "bin", "gw"), { PATH: "/usr/bin:/bin", HOME: "/nowhere" }];
  assert.equal(execFileSync(launcher, ["--version"], { env, encoding: "utf8" }).trim(), wanted);
  const asked = execFileSync(launcher, ["--version", "--json"], { env, encoding: "utf8" });
  assert.equal(asked.trim(), wanted, "and Node says the same");
  const folder = mkdtempSync(join(tmpdir(), "gw-house-"));
  try {
    mkdirSync(join(folder, "bin"));
    copyFileSync(launcher, join(folder, "bin", "gw"));
    const { status, stderr } = spawnSync(join(folder, "bin", "gw"), ["--version"], { env, encoding: "utf8" });
    assert.equal(status, 3);
    assert.deepEqual(stderr.match(/^gw: .*package\.json cannot be read.*\n$/)?.length, 1, stderr);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the launcher bounds the young memory of its program, as the bench of reading a log does", () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-house-"));
  try {
    for (const name of ["bin", "src/programs", "node_modules/node/bin"])
      mkdirSync(join(folder, name), { recursive: true });
    for (const name of ["bin/gw", "bin/environment", "package.json"])
      copyFileSync(join(root, name), join(folder, name));
    symlinkSync(process.execPath, join(folder, "node_modules/node/bin/node"));
    writeFileSync(join(folder, "src/programs/gw.ts"), "console.log(JSON.stringify(process.execArgv));\n");
    const flags = execFileSync(join(folder, "bin", "gw"), ["status"], { env: {}, encoding: "utf8" });
    const bound = "--max-semi-space-size=4";
    assert.ok((JSON.parse(flags) as string[]).includes(bound), flags);
    assert.ok(read("bench/log.bench.ts").includes(`"${bound}"`));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("the launchers are one file", () => {
  assert.equal(read("bin/gw-ident"), read("bin/gw"));
  assert.equal(read("bin/gw-ssh"), read("bin/gw"));
  assert.equal(read("bin/gw-receiver"), read("bin/gw"));
});
