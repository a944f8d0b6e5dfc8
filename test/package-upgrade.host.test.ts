import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type DebianMachine, findObstacle, makeDebianMachine, ownVersion } from "./support/debian.ts";

const NEXT = "99.0.0";
const obstacle = findObstacle();

describe("the Debian package over another one", obstacle === undefined ? {} : { skip: obstacle }, () => {
  let machine: DebianMachine;
  let passphrase = "";
  let format = 0;
  const must = (...command: readonly string[]): string => machine.must(...command);
  const readFormat = (): number => Number(/^gw\.home\/v1 state (\d+)\n$/.exec(must("cat", "/var/lib/gw/format"))?.[1]);

  before(async () => {
    machine = await makeDebianMachine();
    must("dpkg", "--no-triggers", "--install", machine.deb);
    passphrase = machine.passphraseFile();
    const made = machine.asGw("gw", "init", "--operator", "ada", "--passphrase-file", passphrase);
    assert.equal(made.status, 0, made.stderr);
    await serveOnce();
    format = readFormat();
  });
  after(() => machine?.remove());

  async function serveOnce(): Promise<void> {
    await machine.start();
    const unlocked = machine.asGw("gw", "unlock", "--first", "--passphrase-file", passphrase);
    assert.equal(unlocked.status, 0, unlocked.stderr);
    await machine.stop();
  }

  test("a newer package says what it will do, migrates at the next unlock and keeps a copy", async () => {
    const said = must("dpkg", "--no-triggers", "--install", packNext());
    assert.ok(said.includes(`replaces ${ownVersion}`), said);
    assert.equal(must("gw", "--version").trim(), NEXT);
    assert.equal(readFormat(), format, "installing changes no data");
    await serveOnce();
    assert.equal(readFormat(), format + 1);
    assert.equal(must("ls", "/var/lib/gw/before-upgrade").trim(), `state-${format}.db`);
  });

  test("an older package refuses a newer home, and the newer program stays", () => {
    const refused = machine.inside(["dpkg", "--no-triggers", "--install", machine.deb]);
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /store_newer/);
    assert.equal(must("gw", "--version").trim(), NEXT);
    assert.match(must("dpkg", "--status", "gw"), /^Status: install ok installed\n(.*\n)*Version: 99\.0\.0$/m);
    assert.equal(readFormat(), format + 1);
  });

  test("a link in place of the format is read as gw reads it: what only root may see is not told", () => {
    must("mv", "/var/lib/gw/format", "/var/lib/gw/format.kept");
    must(
      "sh",
      "-c",
      "umask 077; echo 'only root knows this' > /etc/gw-secret; ln -s /etc/gw-secret /var/lib/gw/format",
    );
    const older = machine.inside(["dpkg", "--no-triggers", "--install", machine.deb]);
    assert.ok(!/only root/.test(older.stdout + older.stderr));
    must("mv", "/var/lib/gw/format.kept", "/var/lib/gw/format");
  });

  test("removing it keeps the data and says so; purging deletes it and keeps what others made", () => {
    assert.match(must("dpkg", "--no-triggers", "--remove", "gw"), /kept \/var\/lib\/gw/);
    must("test", "-s", "/var/lib/gw/vault.json");
    assert.notEqual(machine.inside(["gw", "--version"]).status, 0);
    must("usermod", "-aG", "gw-operators", "daemon");
    must("touch", "/etc/gw/mine");
    const said = must("dpkg", "--no-triggers", "--purge", "gw");
    assert.match(said, /deleting \/var\/lib\/gw/);
    assert.match(said, /kept the group gw-operators.*daemon/);
    assert.match(said, /kept \/etc\/gw/);
    assert.notEqual(machine.inside(["test", "-e", "/var/lib/gw"]).status, 0);
    for (const user of ["gw", "gw-ident"]) assert.notEqual(machine.inside(["getent", "passwd", user]).status, 0);
  });

  /** The next version: this one with another number and one more step of its schema. */
  function packNext(): string {
    const tree = join(machine.folder, "next");
    const made = join(machine.folder, "next.deb");
    const run = (command: string, ...args: readonly string[]): void => {
      const done = spawnSync(command, args, { encoding: "utf8" });
      assert.equal(done.status, 0, done.stderr);
    };
    const edit = (file: string, change: (text: string) => string): void => {
      const text = readFileSync(join(tree, file), "utf8");
      assert.notEqual(change(text), text, file);
      writeFileSync(join(tree, file), change(text));
    };
    run("dpkg-deb", "-R", machine.deb, tree);
    edit("DEBIAN/control", (text) => text.replace(/^Version: .*$/m, `Version: ${NEXT}`));
    edit("DEBIAN/preinst", (text) => text.replace(/^known=\d+$/m, `known=${format + 1}`));
    edit("usr/lib/gw/package.json", (text) => text.replace(/"version": "[^"]+"/, `"version": "${NEXT}"`));
    const step = `stateMigrations.push({ name: "next", up: (t) => t.schema.createTable("next").addColumn("id", "text").execute() });`;
    edit("usr/lib/gw/dist/adapters/store/sqlite/state-schema.js", (text) => `${text}\n${step}\n`);
    run("dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, made);
    return made;
  }
});
