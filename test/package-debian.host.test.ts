import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type DebianMachine, findObstacle, makeDebianMachine, ownVersion, packDebian } from "./support/debian.ts";

const root = join(import.meta.dirname, "..");
const obstacle = findObstacle();

describe("the Debian package on a machine", obstacle === undefined ? {} : { skip: obstacle }, () => {
  let machine: DebianMachine;
  const must = (...command: readonly string[]): string => machine.must(...command);
  before(async () => {
    machine = await makeDebianMachine();
  });
  after(() => machine?.remove());

  test("checksums and the bill of materials are those of what was made", () => {
    const sums = readFileSync(join(machine.out, "SHA256SUMS"), "utf8").trim().split("\n");
    assert.equal(sums.length, 2);
    for (const line of sums) {
      const [digest, name = ""] = line.split("  ");
      assert.equal(
        createHash("sha256")
          .update(readFileSync(join(machine.out, name)))
          .digest("hex"),
        digest,
        name,
      );
    }
    const bill = JSON.parse(readFileSync(join(machine.out, `gw-${ownVersion}.cdx.json`), "utf8")) as {
      readonly components: readonly { readonly name: string; readonly hashes: readonly unknown[] }[];
    };
    const names = bill.components.map(({ name }) => name);
    for (const name of ["node", "koffi", "undici", "yaml", "zod"]) assert.ok(names.includes(name), name);
    for (const name of ["typescript", "fastify", "fast-check"]) assert.ok(!names.includes(name), name);
    assert.ok(bill.components.every(({ hashes }) => hashes.length === 1));
  });

  test("another clone, elsewhere and under other settings of its user, gives the same bytes", () => {
    const clone = join(machine.folder, "other clone");
    const skipped = new Set(["node_modules", "dist", "out", ".git"].map((name) => join(root, name)));
    cpSync(root, clone, { recursive: true, filter: (path) => !skipped.has(path) });
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
    const again = join(machine.folder, "again");
    packDebian(clone, again, "077", { TZ: "Pacific/Auckland", LC_ALL: "C.UTF-8", TMPDIR: machine.folder });
    assert.equal(
      readFileSync(join(again, "SHA256SUMS"), "utf8"),
      readFileSync(join(machine.out, "SHA256SUMS"), "utf8"),
    );
  });

  test("an account of that name that is a person's is not taken over, and nothing is changed", () => {
    must("useradd", "--create-home", "--home-dir", "/var/gw-the-person", "gw");
    const refused = machine.inside(["dpkg", "--no-triggers", "--install", machine.deb]);
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /account_taken/);
    must("test", "!", "-e", "/usr/lib/gw");
    must("userdel", "gw");
    machine.inside(["dpkg", "--purge", "gw"]);
  });

  test("it makes users, groups and private folders, brings manual and completion, and starts nothing", () => {
    const said = must("dpkg", "--no-triggers", "--install", machine.deb);
    assert.match(said, /nothing was started/);
    assert.equal(must("gw", "--version").trim(), ownVersion);
    assert.equal(must("stat", "-c", "%U:%G %a", "/var/lib/gw").trim(), "gw:gw 700");
    assert.equal(must("stat", "-c", "%U %a", "/run/gw").trim(), "gw 755");
    assert.equal(must("stat", "-c", "%U:%G %a", "/etc/gw/gw.yaml").trim(), "root:root 644");
    for (const group of ["gw-agents", "gw-operators"]) must("getent", "group", group);
    assert.match(must("getent", "passwd", "gw"), /nologin$/m);
    must("test", "-s", "/usr/share/man/man1/gw-call.1");
    for (const file of [
      "bash-completion/completions/gw",
      "zsh/vendor-completions/_gw",
      "fish/vendor_completions.d/gw.fish",
    ]) {
      assert.match(must("cat", `/usr/share/${file}`), /credential/);
    }
    // Nobody may change what root will run, and every file is root's.
    assert.equal(
      must("find", "/usr/lib/gw", "(", "-perm", "/022", "-o", "!", "-user", "root", ")", "!", "-type", "l"),
      "",
    );
    // By what a gateway leaves here: another test's machine has a user of the same number.
    assert.equal(must("ls", "-A", "/run/gw"), "");
  });

  test("the units are sound and closed", (context) => {
    if (machine.inside(["systemd-analyze", "--version"]).status !== 0) {
      context.skip("systemd-analyze is not installed");
      return;
    }
    for (const unit of ["gw.service", "gw-ident.service"]) {
      const verified = machine.inside(["systemd-analyze", "verify", "--man=no", `/usr/lib/systemd/system/${unit}`]);
      assert.deepEqual([verified.status, verified.stderr.replaceAll(/^(?!.*gw).*\n/gm, "")], [0, ""]);
      const exposed = machine.inside([
        "systemd-analyze",
        "security",
        "--offline=true",
        "--threshold=20",
        "--no-pager",
        `/usr/lib/systemd/system/${unit}`,
      ]);
      assert.equal(exposed.status, 0, exposed.stdout.split("\n").at(-2));
    }
  });

  test("the unit's own command line serves as the user gw, and a home tells its format", async () => {
    const made = machine.asGw("gw", "init", "--operator", "ada", "--passphrase-file", machine.passphraseFile());
    assert.equal(made.status, 0, made.stderr);
    await machine.start();
    const unlocked = machine.asGw("gw", "unlock", "--first", "--passphrase-file", "/var/lib/gw/passphrase");
    assert.equal(unlocked.status, 0, unlocked.stderr);
    const status = machine.asGw("gw", "status", "--json");
    assert.equal(status.status, 0, status.stderr);
    const capabilities = must("cat", `/proc/${String((JSON.parse(status.stdout) as { pid: number }).pid)}/status`);
    assert.match(capabilities, /^CapEff:\t0+$/m);
    assert.match(machine.asGw("gw", "metrics").stdout, /^gw_locked 0$/m);
    assert.match(must("cat", "/var/lib/gw/format"), /^gw\.home\/v1 state \d+\n$/);
    await machine.stop();
  });
});
