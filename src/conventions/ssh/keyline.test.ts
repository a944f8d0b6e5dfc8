import assert from "node:assert/strict";
import { test } from "node:test";
import { findUnsoundKeyline, type KeylineChoice, keylineDefaults, listHostSettings, writeKeyline } from "./keyline.ts";
import { judgeProbe, type ProbeSeen } from "./probe.ts";
import { readRecording, writeAsciicast, writeRecording } from "./recording.ts";

const choice: KeylineChoice = {
  ...keylineDefaults,
  publicKey: "ssh-ed25519 AAAA",
  label: "acme-ssh",
  from: [],
  expires: null,
};

test("the key line restricts first and forces the receiver with a scrubbed environment", () => {
  const line = writeKeyline({ ...choice, from: ["10.0.0.0/8", "!10.9.*"], expires: "20270101" });
  assert.ok(
    line.startsWith('restrict,from="10.0.0.0/8,!10.9.*",expiry-time="20270101",command="exec /usr/bin/env -i '),
  );
  assert.ok(line.endsWith('/usr/bin/node /usr/local/lib/gw-receiver/gw-receiver.mjs" ssh-ed25519 AAAA gw:acme-ssh'));
  assert.equal(line.includes("\n"), false);
});

test("a choice that could leave its place in the line is found", () => {
  assert.equal(findUnsoundKeyline(choice), undefined);
  const bad: readonly (readonly [Partial<KeylineChoice>, string])[] = [
    [{ node: "node" }, "path"],
    [{ receiver: '/x" ssh-rsa' }, "path"],
    [{ manifest: "/a b" }, "path"],
    [{ from: ['1.2.3.4"'] }, "from"],
    [{ from: ["a b"] }, "from"],
    [{ expires: "tomorrow" }, "expires"],
    [{ user: "Root!" }, "user"],
    [{ label: "a b" }, "label"],
  ];
  for (const [more, what] of bad) assert.equal(findUnsoundKeyline({ ...choice, ...more }), what);
});

test("the settings cover what restrict does not", () => {
  const pin = { gateway_key: "ssh-ed25519 AAAA", host_key: "ssh-ed25519 BBBB" };
  const text = listHostSettings("gw", keylineDefaults.manifest, pin)
    .map((setting) => setting.text)
    .join("\n");
  assert.ok(text.includes('"gateway_key": "ssh-ed25519 AAAA",\n"host_key": "ssh-ed25519 BBBB",'));
  for (const word of ["PermitTunnel no", "AcceptEnv", "--shell /bin/sh", "DisableForwarding yes", "PermitTTY no"]) {
    assert.ok(text.includes(word), word);
  }
});

const seen: ProbeSeen = { signed: true, firstLine: Buffer.alloc(0), diagnostics: "" };
const ready = Buffer.from('{"frame":"ready","format":"gw.receiver/v1","nonce":"AAAAAAAAAAAAAAAAAAAAAA"}');
const refusedWith = (code: string) => Buffer.from(`{"frame":"refused","request_id":null,"code":"${code}"}`);

test("a probe is refused only on evidence, and permitted when it was granted", () => {
  const verdict = (...args: Parameters<typeof judgeProbe>) => judgeProbe(...args).verdict;
  assert.equal(verdict("run", { ...seen, firstLine: ready }), "permitted");
  assert.equal(verdict("run", { ...seen, firstLine: refusedWith("manifest_invalid") }), "unclear");
  assert.equal(verdict("try_command", { ...seen, firstLine: refusedWith("command_not_allowed") }), "refused");
  assert.equal(verdict("try_command", { ...seen, firstLine: Buffer.from("uid=0(root)") }), "permitted");
  assert.equal(verdict("try_command", seen), "unclear");
  assert.equal(verdict("try_sftp", { ...seen, firstLine: Buffer.from("0000000502", "hex") }), "permitted");
  assert.equal(verdict("try_sftp", seen), "unclear");
  assert.equal(verdict("try_sftp", { ...seen, diagnostics: "subsystem request failed on channel 0" }), "refused");
  assert.equal(
    verdict("try_terminal", { ...seen, diagnostics: "PTY allocation request failed on channel 0" }),
    "refused",
  );
  assert.equal(verdict("try_terminal", { ...seen, firstLine: refusedWith("terminal_not_allowed") }), "permitted");
  assert.equal(verdict("try_agent", { ...seen, firstLine: refusedWith("forwarding_not_allowed") }), "permitted");
  assert.equal(verdict("try_environment", { ...seen, firstLine: refusedWith("environment_not_allowed") }), "permitted");
  assert.equal(verdict("try_environment", { ...seen, firstLine: refusedWith("manifest_invalid") }), "unclear");
  assert.equal(verdict("try_local_forward", { ...seen, firstLine: Buffer.from("SSH-2.0-x") }), "permitted");
  assert.equal(
    verdict("try_local_forward", {
      ...seen,
      diagnostics: "channel 0: open failed: administratively prohibited: open failed",
    }),
    "refused",
  );
  assert.equal(verdict("try_local_forward", seen), "unclear");
  assert.equal(
    verdict("try_remote_forward", { ...seen, diagnostics: "Allocated port 40123 for remote forward to 127.0.0.1:9" }),
    "permitted",
  );
  assert.equal(
    verdict("try_remote_forward", { ...seen, diagnostics: "remote port forwarding failed for listen port 0" }),
    "refused",
  );
  assert.equal(verdict("try_remote_forward", seen), "unclear", "a host that says nothing has granted nothing yet");
});

test("a recording reads back, and its asciicast carries no control of its own", () => {
  const chunks = [
    { afterMs: 5, stream: "stdout" as const, data: Buffer.from("a\u001b[2Jb\tc\n") },
    { afterMs: 1500, stream: "stderr" as const, data: Buffer.from("\u202eevil") },
  ];
  const recording = { requestId: "call_0123456789", chunks, capped: false };
  const back = readRecording(writeRecording(recording));
  assert.deepEqual(back, recording);
  const [header, first, second] = writeAsciicast(recording, 1_000).trimEnd().split("\n");
  assert.deepEqual(JSON.parse(header ?? ""), { version: 2, width: 80, height: 24, timestamp: 1 });
  assert.deepEqual(JSON.parse(first ?? ""), [0.005, "o", "a\\u{1b}[2Jb\tc\r\n"]);
  assert.deepEqual(JSON.parse(second ?? ""), [1.5, "o", "\\u{202e}evil"]);
  for (const bytes of ["", "{}", '{"format":"gw.ssh-recording/v1","request_id":"x","capped":false}\nnonsense']) {
    assert.equal(readRecording(Buffer.from(bytes)), undefined);
  }
});

test("a letter that two pieces of one stream share is played whole, whatever the other stream wrote between them", () => {
  const [head, tail] = [Buffer.from("é").subarray(0, 1), Buffer.from("é").subarray(1)];
  const chunks = [
    { afterMs: 1, stream: "stdout" as const, data: Buffer.concat([Buffer.from("caf"), head]) },
    { afterMs: 2, stream: "stderr" as const, data: Buffer.from("ok") },
    { afterMs: 3, stream: "stdout" as const, data: tail },
    { afterMs: 4, stream: "stderr" as const, data: head },
  ];
  const [, ...events] = writeAsciicast({ requestId: "call_0123456789", chunks, capped: false }, 0)
    .trimEnd()
    .split("\n");
  assert.deepEqual(
    events.map((line) => JSON.parse(line)),
    [
      [0.001, "o", "caf"],
      [0.002, "o", "ok"],
      [0.003, "o", "é"],
      [0.004, "o", ""],
      [0.004, "o", "\ufffd"],
    ],
  );
});
