import assert from "node:assert/strict";
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
