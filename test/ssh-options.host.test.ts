import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { missingForSshd, SSH } from "../demo/host/sshd.ts";
import { type ClientPlan, clientArguments } from "../src/conventions/ssh/client-options.ts";
import { standInAccount } from "./ssh-stand.ts";

standInAccount(import.meta.filename);

const plan: ClientPlan = {
  host: "app-1.example",
  port: 22,
  user: "gw",
  hostKeyType: "ssh-ed25519",
  userKeyType: "ssh-rsa",
  connectTimeoutS: 10,
  mode: "run",
};

/** What the real client makes of our arguments. */
function effective(): Map<string, string> {
  const done = spawnSync(SSH, ["-G", ...clientArguments(plan)], { encoding: "utf8", env: {} });
  assert.equal(done.status, 0, done.stderr);
  assert.equal(done.stderr, "");
  return new Map(done.stdout.split("\n").map((line) => [line.split(" ")[0] ?? "", line.split(" ").slice(1).join(" ")]));
}

test("the client takes every option as meant", { skip: missingForSshd() ?? false }, () => {
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
