import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { type ClientPlan, clientArguments, clientModes, findUnsoundPlan, writeKnownHosts } from "./client-options.ts";

const plan: ClientPlan = {
  host: "app-1.example",
  port: 22,
  user: "gw",
  hostKeyType: "ssh-ed25519",
  userKeyType: "ssh-rsa",
  connectTimeoutS: 10,
  mode: "run",
};
const SSH = "/usr/bin/ssh";

/** What the real client makes of our arguments. */
function effective(): Map<string, string> {
  const done = spawnSync(SSH, ["-G", ...clientArguments(plan)], { encoding: "utf8", env: {} });
  assert.equal(done.status, 0, done.stderr);
  assert.equal(done.stderr, "");
  return new Map(done.stdout.split("\n").map((line) => [line.split(" ")[0] ?? "", line.split(" ").slice(1).join(" ")]));
}

test("the client takes every option as meant", { skip: existsSync(SSH) ? false : "no OpenSSH client" }, () => {
  const options = effective();
  const wanted: Record<string, string> = {
    user: "gw",
    batchmode: "yes",
    forwardagent: "no",
    forwardx11: "no",
    clearallforwardings: "yes",
    permitlocalcommand: "no",
    requesttty: "false",
    tunnel: "false",
    controlmaster: "false",
    identitiesonly: "yes",
    identityagent: "agent.sock",
    identityfile: "key.pub",
    preferredauthentications: "publickey",
    passwordauthentication: "no",
    kbdinteractiveauthentication: "no",
    hostbasedauthentication: "no",
    gssapiauthentication: "no",
    stricthostkeychecking: "true",
    userknownhostsfile: "known_hosts",
    globalknownhostsfile: "none",
    hostkeyalias: "gw-pinned",
    hostkeyalgorithms: "ssh-ed25519",
    pubkeyacceptedalgorithms: "rsa-sha2-512,rsa-sha2-256",
    updatehostkeys: "false",
    verifyhostkeydns: "false",
    checkhostip: "no",
    addkeystoagent: "false",
    escapechar: "none",
    canonicalizehostname: "false",
    connectionattempts: "1",
    serveraliveinterval: "5",
  };
  for (const [name, value] of Object.entries(wanted)) assert.equal(options.get(name), value, name);
  for (const absent of [
    "proxycommand",
    "proxyjump",
    "controlpath",
    "knownhostscommand",
    "localcommand",
    "sendenv",
    "setenv",
    "dynamicforward",
    "localforward",
    "remoteforward",
  ]) {
    assert.ok(["none", undefined].includes(options.get(absent)), `${absent} ${options.get(absent)}`);
  }
});

test("no configuration file is read, and the command is the receiver's name", () => {
  const words = clientArguments(plan);
  assert.deepEqual(words.slice(0, 2), ["-F", "none"]);
  assert.deepEqual(words.slice(-3), ["--", "app-1.example", "gw-receiver"]);
});

test("only a check ever asks for what a host must refuse", () => {
  const asks = (mode: ClientPlan["mode"]) => clientArguments({ ...plan, mode }).join(" ");
  for (const mode of clientModes) {
    const line = asks(mode);
    assert.equal(line.includes("-oForwardAgent=yes"), mode === "try_agent");
    assert.equal(line.includes("-oRequestTTY=force"), mode === "try_terminal");
    assert.equal(line.includes(" -R "), mode === "try_remote_forward");
    assert.equal(line.includes(" -W "), mode === "try_local_forward");
    assert.equal(line.includes("SetEnv"), mode === "try_environment");
  }
});

test("a destination that could be read as an option, a list or a token has no plan", () => {
  assert.equal(findUnsoundPlan(plan), undefined);
  for (const host of ["10.0.0.1", "::1", "2001:db8::7", "a"])
    assert.equal(findUnsoundPlan({ ...plan, host }), undefined, host);
  for (const host of [
    "",
    "-oX=y",
    "a b",
    "a@b",
    "%h",
    "$(id)",
    "a\n",
    "a,b",
    "a;b",
    "[::1]",
    "a.",
    "é",
    "x".repeat(300),
  ]) {
    assert.equal(findUnsoundPlan({ ...plan, host }), "host", host);
  }
  for (const user of ["", "-l", "a b", "a@b", "$USER", "a\n", "u".repeat(33)]) {
    assert.equal(findUnsoundPlan({ ...plan, user }), "user", user);
  }
  for (const port of [0, 65_536, 1.5, Number.NaN]) assert.equal(findUnsoundPlan({ ...plan, port }), "port");
  assert.equal(findUnsoundPlan({ ...plan, connectTimeoutS: 0 }), "connect timeout");
});

test("the pinned key stands under an alias of its own", () => {
  assert.equal(writeKnownHosts("ssh-ed25519 AAAA"), "gw-pinned ssh-ed25519 AAAA\n");
});
