import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { cheapenKeys, type DebianMachine, findObstacle, makeDebianMachine, ownVersion } from "./support/debian.ts";
import { until } from "./support/home.ts";
import { whole } from "./support/whole.ts";

const NEXT = "99.0.0";
const obstacle = findObstacle();

describe("the Debian package over another one", obstacle === undefined ? {} : { skip: obstacle }, () => {
  let machine: DebianMachine;
  let older = "";
  let passphrase = "";
  let format = 0;
  const must = (...command: readonly string[]): string => machine.must(...command);
  const readFormat = (): number => Number(/^gw\.home\/v1 state (\d+)\n$/.exec(must("cat", "/var/lib/gw/format"))?.[1]);

  before(async () => {
    machine = await makeDebianMachine();
    older = whole ? machine.deb : packSmall();
    must("dpkg", "--no-triggers", "--install", older);
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

  /** The home on a disk of its own, which can be filled. */
  function moveToSmallDisk(): void {
    must("cp", "-a", "/var/lib/gw", "/var/lib/gw.before");
    must("mount", "-t", "tmpfs", "-o", "size=64m,mode=0700", "tmpfs", "/var/lib/gw");
    must("chown", "gw:gw", "/var/lib/gw");
    must("sh", "-c", "cp -a /var/lib/gw.before/. /var/lib/gw && rm -r /var/lib/gw.before");
  }

  /** Takes all that is left but so many kilobytes. */
  function fill(leave: number): void {
    machine.inside(["sh", "-c", "cat /dev/zero > /var/lib/gw/filled"]);
    must("sh", "-c", `truncate --size=-${leave}K /var/lib/gw/filled`);
  }

  /** As booted with systemd, whose gateway was stopped before. */
  function standInForSystemd(): void {
    must("mkdir", "-p", "/run/systemd/system");
    must("sh", "-c", `printf '#!/bin/sh\\n[ "$*" != "--quiet is-active gw.service" ]\\n' > /usr/sbin/systemctl`);
    must("chmod", "755", "/usr/sbin/systemctl");
  }

  const unlock = (): ReturnType<typeof machine.asGw> =>
    machine.asGw("gw", "unlock", "--first", "--passphrase-file", passphrase);

  test("a newer package says what it will do, and on a disk that is full nothing is migrated and nothing lost", async () => {
    standInForSystemd();
    const said = must("dpkg", "--no-triggers", "--install", packNext());
    must("rm", "-r", "/run/systemd", "/usr/sbin/systemctl");
    assert.ok(said.includes(`replaces ${ownVersion}`), said);
    assert.match(said, /does not run\. Start it: systemctl start gw-ident gw/);
    assert.equal(must("gw", "--version").trim(), NEXT);
    assert.equal(readFormat(), format, "installing changes no data");
    moveToSmallDisk();
    const state = must("sha256sum", "/var/lib/gw/state.db");
    fill(0);
    await assert.rejects(machine.start(), /start_refused.*log_failed.*(no space left|disk is full)/s);
    must("rm", "/var/lib/gw/filled");
    await machine.start();
    fill(32);
    const refused = unlock();
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /^migration_failed: .*full/m);
    assert.equal(must("sha256sum", "/var/lib/gw/state.db"), state);
    assert.equal(readFormat(), format, "the older program still opens it");
    must("rm", "/var/lib/gw/filled");
    await machine.stop();
  });

  test("killed in the middle of a step it goes on at the next start, from a copy that is whole", async () => {
    must("touch", "/run/gw/hold");
    await machine.start();
    const unlocking = machine.spawn([
      ...["setpriv", "--reuid=gw", "--regid=gw", "--init-groups", "env", "HOME=/var/lib/gw"],
      ...["gw", "unlock", "--first", "--passphrase-file", passphrase],
    ]);
    const ended = new Promise((resolve) => unlocking.once("exit", resolve));
    await until("the step is under way", () => machine.inside(["test", "-e", "/run/gw/held"]).status === 0);
    await machine.stop("SIGKILL");
    await ended;
    assert.equal(readFormat(), format + 1, "older programs are kept away from here on");
    assert.equal(must("ls", "/var/lib/gw/before-upgrade").trim(), `state-${format}.db`);
    must("rm", "/run/gw/hold");
    await serveOnce();
    assert.equal(readFormat(), format + 1);
    const verified = machine.asGw("gw", "audit", "verify", "--log", "/var/lib/gw/audit", "--allow-unattested");
    assert.equal(verified.status, 0, verified.stdout + verified.stderr);
  });

  test("an older package refuses a newer home, and the newer program stays", () => {
    const refused = machine.inside(["dpkg", "--no-triggers", "--install", older]);
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /store_newer/);
    assert.equal(must("gw", "--version").trim(), NEXT);
    assert.match(must("dpkg", "--status", "gw"), /^Status: install ok installed\n(.*\n)*Version: 99\.0\.0$/m);
    assert.equal(readFormat(), format + 1);
  });

  test("the way back that docs/upgrading.md gives works word by word", async () => {
    const page = readFileSync(join(import.meta.dirname, "..", "docs", "upgrading.md"), "utf8");
    const [, block = ""] = /## Going back\n.*?```\n(.*?)```/s.exec(page) ?? [];
    // No systemd runs here, and apt would ask a repository.
    const lines = block
      .replaceAll(/^systemctl .*$/gm, "")
      .replaceAll("state-N", `state-${format}`)
      .replaceAll("state N", `state ${format}`)
      .replace("apt install --allow-downgrades ./OLDER.deb", `dpkg --no-triggers --install ${older}`)
      .replaceAll(
        /sudo -u gw (.*)$/gm,
        `setpriv --reuid=gw --regid=gw --init-groups env HOME=/var/lib/gw $1 --passphrase-file ${passphrase}`,
      );
    must("sh", "-ec", lines);
    assert.equal(must("gw", "--version").trim(), ownVersion);
    await serveOnce();
    assert.equal(readFormat(), format);
    must("dpkg", "--no-triggers", "--install", join(machine.folder, "next.deb"));
    await serveOnce();
    assert.equal(readFormat(), format + 1);
  });

  test("a link in place of the format is read as gw reads it: what only root may see is not told", () => {
    must("mv", "/var/lib/gw/format", "/var/lib/gw/format.kept");
    must(
      "sh",
      "-c",
      "umask 077; echo 'only root knows this' > /etc/gw-secret; ln -s /etc/gw-secret /var/lib/gw/format",
    );
    const refused = machine.inside(["dpkg", "--no-triggers", "--install", older]);
    assert.ok(!/only root/.test(refused.stdout + refused.stderr));
    must("mv", "/var/lib/gw/format.kept", "/var/lib/gw/format");
  });

  test("removing it keeps the data and says so; purging deletes it and keeps what others made", () => {
    const units = "/etc/systemd/system";
    const enabled = [`${units}/multi-user.target.wants/gw.service`, `${units}/gw.service.wants/gw-ident.service`];
    for (const link of enabled) {
      must("mkdir", "-p", dirname(link));
      must("ln", "-s", `/lib/systemd/system/${basename(link)}`, link);
    }
    assert.match(must("dpkg", "--no-triggers", "--remove", "gw"), /kept \/var\/lib\/gw/);
    must("test", "-s", "/var/lib/gw/vault.json");
    for (const link of enabled) must("test", "-L", link);
    assert.notEqual(machine.inside(["gw", "--version"]).status, 0);
    const emptied = must("dpkg", "--no-triggers", "--purge", "gw");
    assert.match(emptied, /is a mount of its own: it was emptied, and stays/);
    assert.equal(must("ls", "-A", "/var/lib/gw"), "");
    must("umount", "/var/lib/gw");
    must("dpkg", "--no-triggers", "--install", older);
    must("usermod", "-aG", "gw-operators", "daemon");
    must("touch", "/etc/gw/mine");
    const said = must("dpkg", "--no-triggers", "--purge", "gw");
    assert.match(said, /deleting \/var\/lib\/gw/);
    assert.match(said, /kept the group gw-operators.*daemon/);
    assert.match(said, /kept \/etc\/gw/);
    assert.notEqual(machine.inside(["test", "-e", "/var/lib/gw"]).status, 0);
    for (const link of enabled) must("test", "!", "-L", link);
    for (const user of ["gw", "gw-ident"]) assert.notEqual(machine.inside(["getent", "passwd", user]).status, 0);
  });

  test("what is mounted in the home outlives a purge, with the user whose it is, and keeps nothing else from being done", () => {
    must("dpkg", "--no-triggers", "--install", older);
    const disk = "/var/lib/gw/audit";
    must("mkdir", disk);
    must("mount", "-t", "tmpfs", "tmpfs", disk);
    must("touch", `${disk}/0000000001.gwlog`, "/var/lib/gw/vault.json");
    const said = must("dpkg", "--no-triggers", "--purge", "gw");
    assert.match(said, /kept \/var\/lib\/gw.*and the user gw/);
    assert.deepEqual([must("ls", "/var/lib/gw"), must("ls", disk)], ["audit\n", "0000000001.gwlog\n"]);
    const users = ["gw", "gw-ident"].map((user) => machine.inside(["getent", "passwd", user]).status === 0);
    assert.deepEqual(users, [true, false]);
    must("umount", disk);
  });

  const run = (command: string, ...args: readonly string[]): void => {
    const done = spawnSync(command, args, { encoding: "utf8" });
    assert.equal(done.status, 0, done.stderr);
  };
  const packTree = (tree: string, made: string): string => {
    run("dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, made);
    return made;
  };

  /** This version with keys that are cheap, and a Node that stands beside it: five sixths of every package that is put over another. */
  function packSmall(): string {
    const tree = join(machine.folder, "older");
    run("dpkg-deb", "-R", machine.deb, tree);
    const lib = join(tree, "usr", "lib", "gw");
    cheapenKeys(lib);
    const node = join(lib, "node_modules", "node", "bin", "node");
    must("install", "-m", "0755", node, "/usr/lib/node-of-gw");
    rmSync(node);
    symlinkSync("/usr/lib/node-of-gw", node);
    return packTree(tree, join(machine.folder, "older.deb"));
  }

  /** The next version: this one with another number and one more step of its schema. */
  function packNext(): string {
    const tree = join(machine.folder, "next");
    const edit = (file: string, change: (text: string) => string): void => {
      const text = readFileSync(join(tree, file), "utf8");
      assert.notEqual(change(text), text, file);
      writeFileSync(join(tree, file), change(text));
    };
    run("dpkg-deb", "-R", older, tree);
    edit("DEBIAN/control", (text) => text.replace(/^Version: .*$/m, `Version: ${NEXT}`));
    edit("DEBIAN/preinst", (text) => text.replace(/^known=\d+$/m, `known=${format + 1}`));
    edit("usr/lib/gw/package.json", (text) => text.replace(/"version": "[^"]+"/, `"version": "${NEXT}"`));
    // Where a test wants to see it in the middle of the step, it stays there.
    const step = `stateMigrations.push({ name: "next", statements: { *[Symbol.iterator]() {
  const { existsSync, writeFileSync } = process.getBuiltinModule("node:fs");
  yield "create table next (id text)";
  if (!existsSync("/run/gw/hold")) return;
  writeFileSync("/run/gw/held", "");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600_000);
} } });`;
    const programs = join(tree, "usr/lib/gw/dist/src/programs");
    // Each program has the table among its own parts.
    const table = /^var stateMigrations = \[.*?^\];\n/ms;
    const holds = (name: string): boolean =>
      name.endsWith(".js") && table.test(readFileSync(join(programs, name), "utf8"));
    for (const name of readdirSync(programs).filter(holds))
      edit(`usr/lib/gw/dist/src/programs/${name}`, (text) => text.replace(table, (found) => `${found}${step}\n`));
    return packTree(tree, join(machine.folder, "next.deb"));
  }
});
