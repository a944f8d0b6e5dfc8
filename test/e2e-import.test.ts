import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { asUser, codeOf, type Exited, Home, type Members, makeFolder } from "./support/home.ts";

const VALUES = ["ghp_value_of_github", "value-of-acme", "npm_value_of_registry", "value-of-machine", "gho_value_of_gh"];

describe("gw credential import", asUser, () => {
  const folder = makeFolder();
  const at = (name: string): string => join(folder, name);
  let home: Home;

  before(async () => {
    home = await new Home(folder).init();
    writeFileSync(at("gh"), `#!/bin/sh\n[ "$2" = token ] && echo ${VALUES[4]} || echo "$@" > ${at("gh-said")}\n`, {
      mode: 0o700,
    });
  });

  const take = async (words: readonly string[]): Promise<Exited> => {
    const env = { ...home.environment(), PATH: `${folder}:${process.env["PATH"]}` };
    const done = await home.operator(["credential", "import", ...words], { env });
    for (const value of VALUES) assert.ok(!(done.out + done.err).includes(value), "no value is ever shown");
    return done;
  };
  const labels = async (): Promise<readonly string[]> => {
    const { out } = await home.run(["credential", "list", "--json"]);
    return (JSON.parse(out) as readonly Members[]).map(
      ({ label, kind, bound_to }) => `${label} ${kind} ${String(bound_to)}`,
    );
  };

  test("takes over what says where it belongs, and leaves the rest where it is", async () => {
    writeFileSync(
      at(".env"),
      `# keep\nexport GITHUB_TOKEN="${VALUES[0]}"\nACME_KEY=${VALUES[1]}\nREF=\${OTHER}\nPORT=80\n`,
    );
    const first = await take(["env", at(".env"), "--yes", "--delete"]);
    assert.equal(first.code, 0, first.err);
    assert.match(first.err, /github-token {2}bearer {2}only for https:\/\/api\.github\.com/);
    assert.match(first.err, /acme-key {2}left out: say where it may go with --bind acme-key=/);
    assert.equal(readFileSync(at(".env"), "utf8"), `# keep\nACME_KEY=${VALUES[1]}\nREF=\${OTHER}\nPORT=80\n`);
    const bound = ["--only", "acme-key", "--bind", "acme-key=https://api.acme.example"];
    assert.equal((await take(["env", at(".env"), "--yes", ...bound])).code, 0);
    assert.match(readFileSync(at(".env"), "utf8"), /ACME_KEY=/, "it stays unless somebody says so");
    assert.equal(codeOf(await take(["env", at(".env"), "--yes", ...bound])), "credential_exists");
    const kept = `ACME_KEY=${VALUES[1]}\n`;
    writeFileSync(at(".env"), `${kept}GITLAB_TOKEN=${VALUES[0]}\n`);
    const places = ["--bind", "acme-key=https://api.acme.example", "--bind", "gitlab-token=https://gitlab.example"];
    const again = await take(["env", at(".env"), "--yes", "--delete", ...places]);
    assert.equal(again.code, 0, again.err);
    assert.match(again.err, /acme-key {2}left out: the vault holds it already/);
    assert.equal(readFileSync(at(".env"), "utf8"), kept, "only what was taken is taken out");
    assert.deepEqual(await labels(), [
      "acme-key bearer https://api.acme.example",
      "github-token bearer https://api.github.com",
      "gitlab-token bearer https://gitlab.example",
    ]);
  });

  test("reads the files of npm and netrc, a private key, and what gh holds", async () => {
    writeFileSync(at(".npmrc"), `save-exact=true\n//registry.example/:_authToken=${VALUES[2]}\n`);
    writeFileSync(at(".netrc"), `machine git.acme.example\n  login ada\n  password ${VALUES[3]}\ndefault login x\n`);
    assert.equal((await take(["npmrc", at(".npmrc"), "--yes", "--delete"])).code, 0);
    assert.equal((await take(["netrc", at(".netrc"), "--yes", "--delete"])).code, 0);
    assert.deepEqual(
      [".npmrc", ".netrc"].map((name) => readFileSync(at(name), "utf8")),
      ["save-exact=true\n", "default login x\n"],
    );
    const made = readFileSync(join(import.meta.dirname, "../src/vault/testing/ssh-keys.json"), "utf8");
    const { keys } = JSON.parse(made) as { keys: { ed25519: { line: string; file: string } } };
    const hostKey = keys.ed25519.line;
    writeFileSync(at("id"), keys.ed25519.file, { mode: 0o600 });
    const key = await take(["ssh-key", at("id"), "--label", "host", "--host-key", hostKey, "--yes", "--delete"]);
    assert.equal(key.code, 0, key.err);
    assert.ok(!existsSync(at("id")));
    assert.equal((await take(["gh", "--yes", "--delete"])).code, 0);
    assert.equal(readFileSync(at("gh-said"), "utf8"), "auth logout --hostname github.com\n");
    const held = (await labels()).join("\n");
    assert.match(held, /^git-acme-example basic https:\/\/git\.acme\.example$/m);
    assert.match(held, /^npm-registry-example bearer https:\/\/registry\.example$/m);
    assert.match(held, /^github bearer https:\/\/api\.github\.com$/m);
    assert.match(held, /^host ssh /m);
    assert.equal(codeOf(await take(["op", "op://vault/item/field", "--label", "x", "--yes"])), "secret_missing");
    assert.equal(codeOf(await take(["nowhere"])), "credential_invalid");
  });
});
