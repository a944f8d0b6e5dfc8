import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import {
  examineHome,
  examineKernel,
  examineMachine,
  examineNode,
  examineSignals,
  examineSshClient,
  withoutMend,
} from "./examine.ts";
import { unavailable } from "./linux/box/unavailable.ts";

test("the doctor names an old Node and the command that mends it", () => {
  assert.equal(examineNode("24.15.0").state, "ok");
  assert.equal(examineNode("26.0.0").state, "ok");
  for (const old of ["24.14.9", "20.20.2"])
    assert.deepEqual([examineNode(old).state, examineNode(old).mend], ["missing", "npm ci"]);
});

test("the doctor warns when a signal would open the inspector", () => {
  assert.equal(examineSignals(["--disable-sigusr1"]).state, "ok");
  assert.equal(examineSignals([]).state, "warning");
});

test("the doctor knows which kernels name a peer for good", () => {
  assert.equal(examineKernel("linux", "6.5.0-1").state, "ok");
  assert.equal(examineKernel("linux", "6.1.0-40-amd64").state, "warning");
  assert.equal(examineKernel("win32", "10").state, "missing");
});

test("the doctor knows which SSH clients prove a host to their agent", () => {
  const found = (detail: string) => ({ name: "openssh client", state: "ok", detail, mend: null }) as const;
  for (const detail of ["OpenSSH_8.9p1 Ubuntu-3, OpenSSL 3.0.2", "OpenSSH_9.2p1", "OpenSSH_10.0p2"])
    assert.equal(examineSshClient(found(detail)).state, "ok", detail);
  for (const detail of ["OpenSSH_8.8p1, OpenSSL 1.1.1", "OpenSSH_7.4p1", "dropbear"]) {
    const row = examineSshClient(found(detail));
    assert.deepEqual([row.state, row.mend], ["warning", "apt-get install openssh-client"], detail);
  }
  const absent = { ...found("absent; only SSH actions need it"), state: "warning" } as const;
  assert.equal(examineSshClient(absent), absent);
});

test("the doctor looks at the modes of the home and its files", () => {
  const home = mkdtempSync(join(tmpdir(), "gw-doctor-"));
  try {
    writeFileSync(join(home, "vault.json"), "{}", { mode: 0o600 });
    assert.ok(examineHome(home).every(({ state }) => state === "ok"));
    chmodSync(join(home, "vault.json"), 0o644);
    const row = examineHome(home).find(({ name }) => name === "vault.json");
    assert.deepEqual([row?.state, row?.mend], ["missing", `chmod 600 ${join(home, "vault.json")}`]);
    chmodSync(home, 0o755);
    assert.equal(examineHome(home)[0]?.state, "missing");
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
});

test("what mends a missing box stands on its own row, and not in the words above it too", () => {
  assert.equal(withoutMend(unavailable("root cannot", "run gw as somebody")), "no box can be built here: root cannot.");
  assert.equal(withoutMend(unavailable("nobody can", null)), "no box can be built here: nobody can.");
});

test("every row that is not in order names a command", async () => {
  for (const { state, mend, name } of await examineMachine("/nowhere/at/all")) {
    assert.ok(state === "ok" || mend !== null, name);
  }
});
