import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import type { SshRecording } from "../src/conventions/ssh/recording.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { signSsh } from "../src/kernel/ssh-key.ts";
import { DEADLINE, deadlineWhen, expectAnswered, expectNeverSent, expectRefused, expectSilent } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { ed25519, keySigner, nextRequestId, publicLine, type Stand, startStand } from "./ssh-stand.ts";
import { until } from "./support/home.ts";
import { sampleOf, whole } from "./support/whole.ts";

const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

const gatewayKey = ed25519();
const AT_ONCE = whole ? 12 : 4;
let stand: Stand;

before(async () => {
  if (missing !== null) return;
  const worker = { worker: { characters: "a-z0-9-", first: "a-z", max: 32 } };
  stand = await startStand({
    operations: {
      release_status: {
        executable: program(
          "release-status",
          `printf '{"release_id":"r1","phase":"active","active_revision":"a1","migration_version":"7"}\\n'`,
        ),
        arguments: ["--json"],
      },
      restart_worker: {
        executable: program("restart-worker", `echo "$1" >> "${scripts}/restarted"; echo "restarted $1"`),
        arguments: [{ field: "worker" }],
        fields: worker,
      },
      fail: { executable: program("fail", "echo it broke >&2; exit 7") },
      die: { executable: program("die", "kill -9 $$") },
      hang: { executable: program("hang", "sleep 600"), timeout_s: 1 },
      slow: { executable: program("slow", "sleep 1; echo done") },
      flood: { executable: program("flood", "yes | head -c 3000000"), output_bytes: 100_000 },
      speak: { executable: program("speak", "echo one; sleep 0.1; echo two >&2") },
      look: { executable: program("look", "env; pwd; echo argc=$#") },
    },
  });
});

after(async () => {
  if (missing === null) await stand.stop();
  removeScripts();
});
real("a status operation answers with what the program printed", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const { text } = expectAnswered(await stand.send(signer), 0);
  assert.deepEqual(Object.keys(JSON.parse(text) as JsonObject), [
    "release_id",
    "phase",
    "active_revision",
    "migration_version",
  ]);
  assert.deepEqual(readdirSync(join(stand.folder, "run")), [], "the private folder is removed");
});

const keys: readonly (readonly [string, () => KeyObject])[] = [
  ["ECDSA P-256", () => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey],
  ["ECDSA P-521", () => generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey],
  ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey],
];
for (const [name, make] of sampleOf("kinds of keys that sign through the agent", keys, 1)) {
  real(`${name} keys sign through the agent`, async () => {
    expectAnswered(await stand.send(stand.allow(make(), stand.receiverCommand)), 0);
  });
}

real("hosts with ECDSA and RSA keys are pinned and proven too", async () => {
  for (const hostKeyType of sampleOf("kinds of keys of hosts", ["ecdsa", "rsa"] as const, 1)) {
    const other = await startStand({ hostKeyType, operations: { release_status: { executable: "/bin/true" } } });
    try {
      expectAnswered(await other.send(other.allow(ed25519(), other.receiverCommand)), 0);
    } finally {
      await other.stop();
    }
  }
});

real("exit statuses, signals and a time limit come back as the receiver reports them", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const failed = expectAnswered(await stand.send(signer, { action: "fail" }), 7);
  assert.equal(failed.text, "it broke\n");
  assert.equal(failed.headers["body"], "stderr");
  assert.equal(expectAnswered(await stand.send(signer, { action: "die" }), 137).headers["signal"], "SIGKILL");
  const late = expectAnswered(await stand.send(signer, { action: "hang" }), 143);
  assert.equal(late.headers["timed-out"], "true");
});

real("the program gets a fixed environment, a fixed folder and no arguments of the client's", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const { text } = expectAnswered(await stand.send(signer, { action: "look" }), 0);
  const lines = text
    .trim()
    .split("\n")
    .filter((line) => !/^(PWD|OLDPWD|SHLVL|_)=/.test(line));
  assert.deepEqual(lines.sort(), ["/", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "argc=0"]);
});

real("hostile field values reach no program", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  // The whole list is in the grammar's own tests; these few go all the way.
  const hostile = sampleOf("hostile fields", ["a\nb", "$(id)", "-rf", "../etc", "wоrker", "x\u202e"], 2);
  for (const seen of await Promise.all(
    hostile.map((worker) => stand.send(signer, { action: "restart_worker", fields: { worker } })),
  )) {
    expectRefused(seen, "field_not_allowed");
  }
  expectRefused(
    await stand.send(signer, { action: "restart_worker", fields: { worker: "a", extra: "b" } }),
    "field_unknown",
  );
  expectRefused(await stand.send(signer, { action: "id" }), "action_unknown");
  assert.equal(existsSync(join(scripts, "restarted")), false);
  const { text } = expectAnswered(
    await stand.send(signer, { action: "restart_worker", fields: { worker: "web-1" } }),
    0,
  );
  assert.equal(text, "restarted web-1\n");
  assert.equal(readFileSync(join(scripts, "restarted"), "utf8"), "web-1\n");
});

real("values that no receiver could read are not sent at all", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const fields = [{ nonce: "x" }, { signature: "x" }, { "a b": "x" }, { a: ["x"] }, { a: 1.5 }, { a: null }];
  const long = { a: "x".repeat(20_000) };
  const requests = [
    ...[...fields, long].map((one) => ({ fields: one })),
    ...[{ host: "-oProxyCommand=id" }, { host: "a b" }, { user: "-l" }, { user: "a b" }, { port: 0 }],
  ];
  for (const more of sampleOf("requests that no receiver could read", requests, 4)) {
    expectNeverSent(await stand.send(signer, more), "helper_failed");
  }
});

real("a repeated request identifier is refused, also after the first one failed", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  expectAnswered(await stand.send(signer, { action: "fail", requestId }), 7);
  expectRefused(await stand.send(signer, { action: "fail", requestId }), "request_repeated");
  expectRefused(await stand.send(signer, { requestId }), "request_repeated");
});

real("start and completion are on the host's disk", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  expectAnswered(await stand.send(signer, { action: "restart_worker", fields: { worker: "web-2" }, requestId }), 0);
  const [started, finished] = readFileSync(join(stand.state, "requests", requestId), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject);
  assert.equal(started?.["event"], "action_started");
  assert.equal(started?.["operation"], "restart_worker");
  assert.deepEqual(started?.["fields"], { worker: "web-2" });
  assert.match(String(started?.["from"]), /^127\.0\.0\.1 /);
  assert.equal(finished?.["event"], "action_finished");
  assert.equal(finished?.["exit_status"], 0);
});

real("the record tells what became of a request, and an unseen one can never run afterwards", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const ask = async (of: string) =>
    JSON.parse(
      expectAnswered(await stand.send(signer, { action: "request_status", fields: { of } }), 0).text,
    ) as JsonObject;
  const done = nextRequestId();
  expectAnswered(await stand.send(signer, { action: "fail", requestId: done }), 7);
  const finished = await ask(done);
  assert.equal(finished["state"], "finished");
  assert.equal(finished["exit_status"], 7);
  const unseen = nextRequestId();
  assert.equal((await ask(unseen))["state"], "absent");
  expectRefused(await stand.send(signer, { requestId: unseen }), "request_repeated");
  assert.equal((await ask(unseen))["state"], "absent");
});

real("a gateway that gives up leaves the operation running to its recorded end", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  const file = join(stand.state, "requests", requestId);
  const giveUp = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => existsSync(file)) } };
  expectSilent(await stand.send(signer, { action: "slow", requestId }, giveUp), "timeout");
  await until("it has run to its end", () => readFileSync(file, "utf8").includes("action_finished"));
  assert.match(readFileSync(file, "utf8"), /"action_finished".*"exit_status":0/);
});

real("output beyond the manifest's bound is cut and said to be", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const flood = await stand.send(signer, { action: "flood" }, { limits: { responseBytes: 1_000_000 } });
  assert.equal(expectAnswered(flood, 0).text.length, 100_000);
  assert.equal(expectAnswered(flood, 0).headers["truncated"], "true");
  const small = await stand.send(signer, { action: "flood" }, { limits: { responseBytes: 1_000 } });
  assert.equal(expectAnswered(small, 0).text.length, 1_000);
  assert.equal(expectAnswered(small, 0).headers["truncated"], "true");
});

real("requests at once each get their own answer", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const names = Array.from({ length: AT_ONCE }, (_, index) => `web-${index + 10}`);
  const seen = await Promise.all(
    names.map((worker) => stand.send(signer, { action: "restart_worker", fields: { worker } })),
  );
  assert.deepEqual(
    seen.map((each) => expectAnswered(each, 0).text),
    names.map((worker) => `restarted ${worker}\n`),
  );
});

real("of equal requests at once one runs", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const requestId = nextRequestId();
  const seen = await Promise.all(Array.from({ length: AT_ONCE }, () => stand.send(signer, { requestId })));
  const statuses = seen.map((each) => (each.kind === "answered" ? each.status : each.kind)).sort();
  assert.deepEqual(statuses, [...Array.from({ length: AT_ONCE - 1 }, () => -1), 0]);
});

real("a host that pins the gateway's key takes signed requests only", async () => {
  const pinned = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
  pinned.pin(publicLine(keySigner(gatewayKey)));
  try {
    const signer = pinned.allow(ed25519(), pinned.receiverCommand);
    expectRefused(await pinned.send(signer), "signature_missing");
    const sendSigned = (signRequest: (data: Buffer) => Buffer) => pinned.send(signer, {}, { options: { signRequest } });
    const by = (key: KeyObject) => (data: Buffer) => signSsh(key, data, 0) ?? assert.fail("not signed");
    expectRefused(await sendSigned(by(ed25519())), "signature_invalid");
    expectAnswered(await sendSigned(by(gatewayKey)), 0);
    // A host that hands on the nonce of this one has its own key in what the gateway signs.
    const forAnother = (data: Buffer) =>
      by(gatewayKey)(Buffer.from(data.toString("utf8").replace(pinned.hostKey, stand.hostKey)));
    expectRefused(await sendSigned(forAnother), "signature_invalid");
    const locked = () => {
      throw new Denied("gateway_locked", "locked");
    };
    expectNeverSent(await sendSigned(locked), "helper_failed");
  } finally {
    await pinned.stop();
  }
});

real("a recording holds what was written, when it was, up to its cap", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const sealed: SshRecording[] = [];
  const recorder = { seal: async (recording: SshRecording) => `sha256:${sealed.push(recording)}` };
  expectAnswered(await stand.send(signer, { action: "speak" }, { options: { recorder } }), 0);
  assert.equal(sealed.length, 0, "recording is off unless asked for");
  expectAnswered(await stand.send(signer, { action: "speak", recording: "on" }, { options: { recorder } }), 0);
  const chunks = sealed[0]?.chunks ?? [];
  assert.deepEqual(
    chunks.map(({ stream, data }) => [stream, data.toString()]),
    [
      ["stdout", "one\n"],
      ["stderr", "two\n"],
    ],
  );
  assert.ok((chunks[0]?.afterMs ?? 0) <= (chunks[1]?.afterMs ?? 0));
  const failing = { recorder: { seal: () => Promise.reject(new Error("the disk is full")) } };
  const unkept = await stand.send(signer, { action: "speak", recording: "on" }, { options: failing });
  assert.deepEqual([unkept.kind, "recordingDigest" in unkept && unkept.recordingDigest], ["answered", null]);
  // Room for two pieces, four bytes of the first and three of the other, in base64.
  const capped = { recorder, recordingBytes: 128 + 2 * 64 + 8 + 4 };
  expectAnswered(await stand.send(signer, { action: "speak", recording: "on" }, { options: capped }), 0);
  assert.equal(sealed[1]?.capped, true);
  assert.equal(Buffer.concat((sealed[1]?.chunks ?? []).map(({ data }) => data)).length, 7);
});
