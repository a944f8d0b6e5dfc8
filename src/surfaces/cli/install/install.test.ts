import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import type { CliIo } from "../io.ts";
import { runInstall, runUninstall } from "./install.ts";

const random = { bytes: randomBytes };

function stage(t: { after(work: () => void): void }, systemd: boolean) {
  const userHome = mkdtempSync(join(tmpdir(), "gw-install-"));
  t.after(() => rmSync(userHome, { recursive: true, force: true }));
  const home = join(userHome, ".gw");
  const said: string[] = [];
  const asked: string[] = [];
  const io = { out: (line: string) => said.push(line), err: (line: string) => said.push(line) } as unknown as CliIo;
  const systemctl = (words: readonly string[]): boolean => {
    asked.push(words.join(" "));
    return systemd;
  };
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a name that systemd would take for a variable
  const ports = { userHome, program: "/opt/with ${space}/gw", random, systemctl };
  const makeHome = (): void => {
    mkdirSync(home);
    writeFileSync(join(home, "vault.json"), "{}");
  };
  const unit = join(userHome, ".config/systemd/user/gw.service");
  const script = join(userHome, ".local/bin/gw-start");
  return { io, ports, options: { home, json: false }, makeHome, said, asked, unit, script };
}

test("gw install --user writes a unit where the user's systemd runs, and gw uninstall takes it away", async (t) => {
  const { io, ports, options, makeHome, asked, unit, script } = stage(t, true);
  makeHome();
  assert.equal(await runInstall(options, io, ports), 0);
  const text = readFileSync(unit, "utf8");
  assert.match(text, /^ExecStart="\/opt\/with \$\${space}\/gw" up --locked --home "/m);
  // Whoever goes on with gw unlock finds a gateway that serves, and one that is refused is not started for ever.
  for (const line of ["Type=notify", "NotifyAccess=all", "RestartSec=2s", "StartLimitIntervalSec=300s"])
    assert.ok(text.split("\n").includes(line), line);
  assert.equal(existsSync(script), false);
  assert.ok(asked.includes("enable --now gw.service"));
  assert.equal(await runUninstall(options, io, ports), 0);
  assert.equal(existsSync(unit), false);
  assert.ok(asked.includes("disable --now gw.service"));
  assert.ok(existsSync(join(options.home, "vault.json")), "the home stays");
});

test("a gateway that systemd could not start is not said to run", async (t) => {
  const { io, ports, options, makeHome, said } = stage(t, true);
  makeHome();
  const systemctl = (words: readonly string[]): boolean => words[0] !== "enable";
  assert.equal(await runInstall(options, io, { ...ports, systemctl }), 3);
  assert.match(said.join("\n"), /^gateway_unreachable: .*systemctl --user status gw/m);
});

test("installed again for another home, what systemd runs is started anew, and left alone for the same one", async (t) => {
  const { io, ports, options, makeHome, asked, unit, said } = stage(t, true);
  makeHome();
  const other = join(ports.userHome, "other");
  mkdirSync(other);
  writeFileSync(join(other, "vault.json"), "{}");
  const again = async (home: string): Promise<readonly string[]> => {
    asked.length = 0;
    assert.equal(await runInstall({ ...options, home }, io, ports), 0);
    return asked.slice(1);
  };
  const begins = ["daemon-reload", "enable --now gw.service"];
  assert.deepEqual(await again(options.home), begins);
  assert.deepEqual(await again(options.home), begins);
  assert.deepEqual(await again(other), ["daemon-reload", "enable gw.service", "restart gw.service"]);
  assert.ok(readFileSync(unit, "utf8").includes(other));
  assert.equal(said.filter((line) => line.includes("was stopped")).length, 1);
  const systemctl = (words: readonly string[]): boolean => words[0] !== "restart";
  assert.equal(await runInstall(options, io, { ...ports, systemctl }), 3);
});

test("what systemd linked goes too where it no longer runs, and no link of somebody else's", async (t) => {
  const { io, ports, options, makeHome, unit, said } = stage(t, true);
  makeHome();
  const wants = join(dirname(unit), "default.target.wants", "gw.service");
  assert.equal(await runInstall(options, io, ports), 0);
  mkdirSync(dirname(wants));
  symlinkSync("../gw.service", wants);
  assert.equal(await runUninstall(options, io, { ...ports, systemctl: () => false }), 0);
  assert.deepEqual([existsSync(unit), readdirSync(dirname(wants))], [false, []]);
  assert.match(said.at(-1) ?? "", /default\.target\.wants/);
  symlinkSync("/usr/lib/systemd/user/gw.service", wants);
  assert.equal(await runUninstall(options, io, ports), 0);
  assert.deepEqual(readdirSync(dirname(wants)), ["gw.service"]);
});

test("without systemd a plain script starts the gateway", async (t) => {
  const { io, ports, options, makeHome, unit, script, said } = stage(t, false);
  makeHome();
  assert.equal(await runInstall(options, io, ports), 0);
  assert.equal(statSync(script).mode & 0o777, 0o700);
  assert.match(readFileSync(script, "utf8"), /^exec '\/opt\/with \${space}\/gw' up --locked --home '/m);
  assert.equal(existsSync(unit), false);
  assert.ok(!said.some((line) => line.includes("Ctrl-C")));
  mkdirSync(join(ports.userHome, "other"));
  writeFileSync(join(ports.userHome, "other", "vault.json"), "{}");
  assert.equal(await runInstall({ ...options, home: join(ports.userHome, "other") }, io, ports), 0);
  assert.ok(said.some((line) => line.includes("Ctrl-C")));
  assert.equal(await runUninstall(options, io, ports), 0);
  assert.equal(existsSync(script), false);
});

test("nothing is installed without a home, and what somebody else wrote is left alone", async (t) => {
  const { io, ports, options, makeHome, said, script } = stage(t, false);
  assert.equal(await runInstall(options, io, ports), 1);
  assert.match(said.join("\n"), /^vault_missing: /m);
  makeHome();
  mkdirSync(dirname(script), { recursive: true });
  writeFileSync(script, "#!/bin/sh\necho mine\n");
  assert.equal(await runInstall(options, io, ports), 1);
  assert.equal(await runUninstall(options, io, ports), 1);
  assert.match(said.join("\n"), /^install_foreign: /m);
  assert.match(readFileSync(script, "utf8"), /mine/);
});
