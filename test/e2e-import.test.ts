import assert from "node:assert/strict";
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { asUser, codeOf, type Exited, GW, Home, type Members, makeFolder } from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";

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

  test("takes nothing out of a file that it did not take over, and says what is still there", async () => {
    const one = `machine one.example login ada password ${VALUES[3]}`;
    const line = `${one} machine two.example login bob password the-other-one\n`;
    writeFileSync(at("netrc"), `${line}machine three.example password no-login\n`);
    const shared = await take(["netrc", at("netrc"), "--only", "one-example", "--yes", "--delete"]);
    assert.equal(shared.code, 0, shared.err);
    assert.match(shared.err, /one-example is still in .*netrc: its line holds something else too/);
    assert.doesNotMatch(shared.err, /is gone/);
    assert.equal(readFileSync(at("netrc"), "utf8").split("\n")[0], line.trim());
    const nameless = await take(["netrc", at("netrc"), "--only", "three-example", "--yes", "--delete"]);
    assert.equal(codeOf(nameless), "secret_missing", "a password without a name is not for the host's name");

    const twice = `machine host.example login ada password ${VALUES[3]}\nmachine host.example login bob password the-other-one\n`;
    writeFileSync(at("netrc"), `${twice}machine four.example login ada password ${VALUES[3]}\n`);
    const several = await take(["netrc", at("netrc"), "--yes", "--delete"]);
    assert.equal(several.code, 0, several.err);
    assert.match(several.err, /host-example {2}left out: there are 2 of this name/);
    assert.equal(readFileSync(at("netrc"), "utf8"), twice);
  });

  test("leaves what goes on over several lines, and what a person noted beside an entry", async () => {
    const long = `DEPLOY_KEY="-----BEGIN KEY-----\n${VALUES[1]}\nQmFzZTY0==\n-----END KEY-----"\n`;
    const key = `NOTED_KEY="${VALUES[2]}" # for the "demo"s\n${long}`;
    writeFileSync(at("long-env"), `${key}SLACK_BOT_TOKEN='${VALUES[0]}'\n`);
    const places = ["--bind", "deploy-key=https://a.example", "--bind", "noted-key=https://b.example"];
    const done = await take(["env", at("long-env"), ...places, "--yes", "--delete"]);
    assert.equal(done.code, 0, done.err);
    assert.doesNotMatch(done.err, /qmfzzty0/, "nor is another one a name");
    assert.equal(readFileSync(at("long-env"), "utf8"), key, "the first line of it is no secret");
    const note = "# the password for two is with bob\n# machine old.example login x password y\n";
    writeFileSync(at("netrc"), `machine five.example\n${note}login ada password ${VALUES[3]}\n${note}`);
    const noted = await take(["netrc", at("netrc"), "--yes", "--delete"]);
    assert.equal(noted.code, 0, noted.err);
    assert.doesNotMatch(noted.err, /old-example/);
    assert.match(noted.err, /is gone from there/);
    assert.equal(readFileSync(at("netrc"), "utf8"), note + note);
  });

  test("takes what a link leads to out of the file that has it", async () => {
    writeFileSync(at("dot-env"), `# keep\nSTRIPE_API_KEY=${VALUES[1]}\n`);
    symlinkSync(at("dot-env"), at("link-env"));
    const linked = await take(["env", at("link-env"), "--yes", "--delete"]);
    assert.equal(linked.code, 0, linked.err);
    assert.equal(readFileSync(at("dot-env"), "utf8"), "# keep\n");
    assert.ok(lstatSync(at("link-env")).isSymbolicLink());
    const made = readFileSync(join(import.meta.dirname, "../src/vault/testing/ssh-keys.json"), "utf8");
    const { keys } = JSON.parse(made) as { keys: { ed25519: { line: string; file: string } } };
    writeFileSync(at("kept-key"), keys.ed25519.file, { mode: 0o600 });
    symlinkSync(at("kept-key"), at("link-key"));
    const options = ["--label", "linked", "--host-key", keys.ed25519.line, "--yes", "--delete"];
    assert.equal((await take(["ssh-key", at("link-key"), ...options])).code, 0);
    assert.deepEqual([existsSync(at("kept-key")), existsSync(at("link-key"))], [false, false]);
  });

  test(
    "takes nothing out of a file that changed while a person thought",
    noTmux === null ? {} : { skip: noTmux },
    async () => {
      writeFileSync(at("busy-env"), `OPENAI_API_KEY=${VALUES[0]}\nPORT=80\n`);
      const words = `credential import env ${at("busy-env")} --only openai-api-key --delete --home ${home.folder} --passphrase-file ${home.passphraseFile}`;
      const pane = openPane(makeFolder(), `${GW} ${words}; echo "EXIT $?"; cat`, home.environment());
      try {
        await pane.shows("Take these over into the vault?");
        const now = `NEW=1\nOPENAI_API_KEY=${VALUES[0]}\nPORT=80\n`;
        writeFileSync(at("busy-env"), now);
        pane.type("y", "Enter");
        await pane.shows("EXIT 0");
        assert.equal(readFileSync(at("busy-env"), "utf8"), now);
        assert.match(pane.text().replaceAll(/\s+/g, " "), /has changed meanwhile: nothing was taken out of it/);
        assert.doesNotMatch(pane.text(), /is gone/);
      } finally {
        pane.close();
      }
    },
  );
});
