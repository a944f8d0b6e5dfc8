import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { decodeSshPublicKey, encodeSshPublicKey, signSsh, writeSshPublicLine } from "../../kernel/ssh-key.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import { admitRequest } from "./admit.ts";
import { admitField, readFieldGrammar } from "./field-grammar.ts";
import { type Manifest, readManifest } from "./manifest.ts";
import { readRequest, writeRequest } from "./request.ts";

const ID = "call_0123456789";
const NONCE = "AAAAAAAAAAAAAAAAAAAAAA";
const gateway = generateKeyPairSync("ed25519").privateKey;
const lineOf = (key: KeyObject) =>
  writeSshPublicLine(decodeSshPublicKey(encodeSshPublicKey(key) ?? Buffer.alloc(0)) ?? assert.fail());
const gatewayLine = lineOf(gateway);
const hostLine = lineOf(generateKeyPairSync("ed25519").privateKey);

const restart = {
  executable: "/usr/bin/sudo",
  arguments: [
    "-n",
    "--",
    "/usr/local/sbin/restart-worker",
    { field: "worker", prefix: "--worker=" },
    { field: "hard", when_true: "--hard" },
    { field: "grace" },
  ],
  fields: {
    worker: { characters: "a-z0-9-", first: "a-z", max: 32 },
    hard: { boolean: true },
    grace: { min: 0, max: 60 },
  },
};
const base = {
  format: "gw.receiver-manifest/v1",
  state: "/var/lib/gw-receiver",
  operations: {
    restart_worker: restart,
    release_status: { executable: "/usr/local/bin/release-status", arguments: ["--json"] },
    set_phase: {
      executable: "/opt/phase",
      arguments: [{ field: "phase" }],
      fields: { phase: { one_of: ["blue", "green"] } },
    },
  },
};

function read(more: object = {}): Manifest | string {
  const reading = readManifest(Buffer.from(JSON.stringify({ ...base, ...more })));
  return reading.kind === "manifest" ? reading.manifest : reading.at;
}

function withOperation(more: object): Manifest | string {
  return read({ operations: { one: { executable: "/opt/one", ...more } } });
}

function manifest(more: object = {}): Manifest {
  const found = read(more);
  return typeof found === "string" ? assert.fail(found) : found;
}

function admit(action: string, fields: Record<string, string | number | boolean>, more: object = {}, nonce = NONCE) {
  const members = { action, request_id: ID, nonce, ...fields };
  const reading = readRequest(Buffer.from(JSON.stringify(members)));
  return reading.kind === "request" ? admitRequest(manifest(more), reading.request, NONCE) : assert.fail(reading.code);
}

test("a request becomes a fixed program and an argument array", () => {
  const admission = admit("restart_worker", { worker: "web-1", hard: true, grace: 5 });
  assert.ok(admission.kind === "operate");
  assert.equal(admission.operation.executable, "/usr/bin/sudo");
  assert.equal(admission.operation.elevated, "/usr/local/sbin/restart-worker");
  assert.deepEqual(admission.argv, ["-n", "--", "/usr/local/sbin/restart-worker", "--worker=web-1", "--hard", "5"]);
  const soft = admit("restart_worker", { worker: "web-1", hard: false, grace: 0 });
  assert.ok(soft.kind === "operate");
  assert.equal(soft.argv.includes("--hard"), false);
});

test("what is not in the manifest is refused by name", () => {
  const code = (admission: ReturnType<typeof admit>) =>
    admission.kind === "refused" ? admission.code : admission.kind;
  assert.equal(code(admit("reboot", {})), "action_unknown");
  assert.equal(code(admit("constructor", {})), "action_unknown");
  assert.equal(code(admit("set_phase", {})), "field_missing");
  assert.equal(code(admit("set_phase", { phase: "blue", more: "x" })), "field_unknown");
  assert.equal(code(admit("set_phase", { phase: "red" })), "field_not_allowed");
  assert.equal(code(admit("set_phase", { phase: true })), "field_not_allowed");
  assert.equal(code(admit("set_phase", { phase: "blue" }, {}, "BBBBBBBBBBBBBBBBBBBBBB")), "nonce_mismatch");
  assert.equal(code(admit("request_status", { of: "call_9999999999" })), "status");
  assert.equal(code(admit("request_status", {})), "field_missing");
  assert.equal(code(admit("request_status", { of: "../x" })), "field_not_allowed");
  assert.equal(code(admit("request_status", { of: "call_9999999999", x: 1 })), "field_unknown");
});

test("a pinned gateway key wants a signature for this host and over this connection's nonce", () => {
  const pinned = { gateway_key: gatewayLine, host_key: `${hostLine} comment` };
  const code = (sign: boolean, nonce: string, bend = (text: string) => text, hostKey = hostLine) => {
    const draft = { action: "set_phase", fields: { phase: "blue" }, requestId: ID };
    const signing = (data: Buffer) => signSsh(gateway, data, 0) ?? Buffer.alloc(0);
    const bytes = writeRequest(draft, { hostKey, nonce }, sign ? signing : null);
    const reading = readRequest(Buffer.from(bend(bytes.toString())));
    if (reading.kind === "refused") return reading.code;
    const admission = admitRequest(manifest(pinned), reading.request, NONCE);
    return admission.kind === "refused" ? admission.code : admission.kind;
  };
  assert.equal(code(true, NONCE), "operate");
  assert.equal(code(false, NONCE), "signature_missing");
  assert.equal(code(true, "BBBBBBBBBBBBBBBBBBBBBB"), "nonce_mismatch");
  assert.equal(
    code(true, NONCE, (text) => text.replace("blue", "green")),
    "signature_invalid",
  );
  assert.equal(
    code(true, NONCE, (text) => text.replace('"nonce":"AAAAAAAAAAAAAAAAAAAAAA",', "")),
    "signature_missing",
  );
  const bend = (text: string) => {
    const members = JSON.parse(text) as { signature: string };
    const signature = Buffer.from(members.signature, "base64");
    signature[signature.length - 9] = (signature[signature.length - 9] ?? 0) ^ 1;
    return JSON.stringify({ ...members, signature: signature.toString("base64") });
  };
  assert.equal(code(true, NONCE, bend), "signature_invalid");
  assert.equal(
    code(true, NONCE, (text) => text, gatewayLine),
    "signature_invalid",
    "signed for another host",
  );
});

test("a text field takes its characters, and never a leading dash or two dots", () => {
  const grammar = readFieldGrammar({ characters: "a-z0-9./-", max: 20 }) ?? assert.fail();
  for (const good of ["a", "web-1", "a/b.c", "0"]) assert.equal(admitField(grammar, good), good);
  for (const bad of [
    "",
    "-a",
    "--",
    "a..b",
    "..",
    "a b",
    "a\n",
    "A",
    "é",
    "ａ",
    "а",
    "a\u0000",
    "a".repeat(21),
    7,
    true,
  ]) {
    assert.equal(admitField(grammar, bad), undefined, String(bad));
  }
  fc.assert(
    fc.property(anyText({ maxLength: 12 }), (text) => {
      const taken = admitField(grammar, text);
      if (taken !== undefined) assert.match(taken, /^[a-z0-9./][a-z0-9./-]*$/);
    }),
  );
});

test("numbers keep to their range and are written in digits", () => {
  const grammar = readFieldGrammar({ min: 0, max: 1_000_000_000_000 }) ?? assert.fail();
  assert.equal(admitField(grammar, 1_000_000_000_000), "1000000000000");
  for (const bad of [-1, 1_000_000_000_001, "5", true]) assert.equal(admitField(grammar, bad), undefined);
});

test("a field grammar is one of four kinds, to the letter", () => {
  const bad = [
    null,
    {},
    { boolean: false },
    { one_of: [] },
    { one_of: ["-x"] },
    { one_of: ["a b"] },
    { one_of: [1] },
    { characters: "a-z" },
    { characters: "", max: 3 },
    { characters: "a-Z", max: 3 },
    { characters: "z-a", max: 3 },
    { characters: "é", max: 3 },
    { characters: "a-z", max: 0 },
    { characters: "a-z", max: 9_999 },
    { characters: "a-z", max: 3, min: 1 },
    { min: -1, max: 3 },
    { min: 5, max: 3 },
    { pattern: ".*" },
  ];
  for (const entry of bad) assert.equal(readFieldGrammar(entry), undefined, JSON.stringify(entry));
});

test("the manifest itself is strict", () => {
  assert.equal(read({ format: "gw.receiver-manifest/v2" }), "format");
  assert.equal(read({ extra: 1 }), "extra");
  assert.equal(read({ state: "relative" }), "state");
  assert.equal(read({ state: "/var/../etc" }), "state");
  assert.equal(read({ gateway_key: "ssh-ed25519 AAAA", host_key: hostLine }), "gateway_key");
  assert.equal(read({ gateway_key: gatewayLine }), "host_key");
  assert.equal(read({ gateway_key: gatewayLine, host_key: "app-1" }), "host_key");
  assert.equal(read({ host_key: hostLine }), "gateway_key");
  assert.equal(read({ environment: { "a b": "x" } }), "environment");
  assert.equal(read({ environment: { PATH: "a\nb" } }), "environment");
  assert.equal(read({ operations: { Bad: {} } }), "operations/Bad");
  assert.equal(read({ operations: { request_status: { executable: "/opt/x" } } }), "operations/request_status");
  assert.equal(readManifest(Buffer.from(`{"format":"x","format":"y"}`)).kind, "invalid");
  assert.equal(readManifest(Buffer.alloc(300_000, 0x20)).kind, "invalid");
  assert.deepEqual(manifest().environment, { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LANG: "C.UTF-8" });
});

test("an operation that is not closed is not taken", () => {
  const bad: readonly (readonly [object, string])[] = [
    [{ executable: "one" }, "executable"],
    [{ executable: "/bin/sh" }, "executable"],
    [{ executable: "/usr/bin/env" }, "executable"],
    [{ executable: "/usr/bin/python3.11" }, "executable"],
    [{ executable: "/usr/bin/perl5" }, "executable"],
    [{ executable: "/usr/bin/systemd-run" }, "executable"],
    [{ executable: "/usr/bin/sudo", arguments: ["-n", "--", "/usr/bin/find"] }, "arguments"],
    [{ executable: "/opt/../bin/x" }, "executable"],
    [{ executable: "/opt//x" }, "executable"],
    [{ cwd: "." }, "cwd"],
    [{ timeout_s: 0 }, "timeout_s"],
    [{ timeout_s: 1e9 }, "timeout_s"],
    [{ output_bytes: -1 }, "output_bytes"],
    [{ shell: true }, "shell"],
    [{ arguments: "--json" }, "arguments"],
    [{ arguments: [7] }, "arguments"],
    [{ arguments: ["a\nb"] }, "arguments"],
    [{ arguments: [{ field: "x" }] }, "arguments"],
    [{ fields: { x: { boolean: true } } }, "arguments"],
    [{ fields: { action: { boolean: true } } }, "fields"],
    [{ fields: { x: { characters: "a-z", max: 3 } }, arguments: [{ field: "x", when_true: "--x" }] }, "arguments"],
    [{ fields: { x: { characters: "a-z", max: 3 } }, arguments: [{ field: "x", shell: true }] }, "arguments"],
    [{ executable: "/usr/bin/sudo", arguments: ["/usr/local/sbin/x"] }, "arguments"],
    [{ executable: "/usr/bin/sudo", arguments: ["-n", "--", "/bin/sh"] }, "arguments"],
    [{ executable: "/usr/bin/sudo", arguments: ["-n", "--", "x"] }, "arguments"],
    [{ executable: "/usr/bin/sudo", arguments: ["-n", "--", "/usr/bin/sudo", "-n", "--", "/bin/sh"] }, "arguments"],
    [{ executable: "/usr/bin/sudo.ws", arguments: ["-n", "--", "/usr/local/sbin/x"] }, "arguments"],
    [
      {
        executable: "/usr/bin/sudo",
        fields: { x: { characters: "a-z/", max: 30 } },
        arguments: ["-n", "--", { field: "x" }],
      },
      "arguments",
    ],
    [{ executable: "/usr/bin/pkexec", arguments: ["/usr/local/sbin/x"] }, "arguments"],
  ];
  for (const [entry, member] of bad) {
    assert.equal(withOperation(entry), `operations/one/${member}`, JSON.stringify(entry));
  }
});

test("no shell, interpreter or runner is taken, by whichever name a system has it", () => {
  const names = [
    ...["ash", "mksh", "rbash", "toybox", "busybox", "busybox.static", "bash-static", "ksh93", "deno", "bun", "npx"],
    ...["perl5.36-x86_64-linux-gnu", "python3.11-dbg", "pypy3", "php8.2-cgi", "lua5.4", "vim.tiny", "nc.openbsd"],
    ...["taskset", "prlimit", "setarch", "linux64", "x86_64", "sg", "strace", "gdb", "tmux", "ssh-agent", "java"],
    ...["ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "ld-musl-x86_64.so.1", "ld.so"],
  ];
  const taken = names.filter(
    (name) => withOperation({ executable: `/usr/bin/${name}` }) !== "operations/one/executable",
  );
  assert.deepEqual(taken, []);
  const own = [
    "systemctl",
    "node.sh",
    "env-report",
    "time-sync",
    "find-worker",
    "ldconfig",
    "restart-web-2",
    "x86_64-check",
  ];
  for (const name of own) assert.equal(typeof withOperation({ executable: `/usr/local/sbin/${name}` }), "object", name);
});
