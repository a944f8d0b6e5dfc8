import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import {
  appears,
  DEADLINE,
  deadlineWhen,
  expectAnswered,
  expectNeverSent,
  expectSilent,
  READ_ID,
  READY,
  STARTED,
} from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { ed25519, keySigner, publicLine, type Stand, startStand } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

let stand: Stand;

before(async () => {
  if (missing !== null) return;
  stand = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
});

after(async () => {
  if (missing === null) await stand.stop();
  removeScripts();
});

/** A key whose forced command is one of ours instead of the receiver. */
function forced(name: string, script: string) {
  return stand.allow(ed25519(), program(name, script));
}

real("nobody listens: nothing was sent", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  expectNeverSent(await stand.send(signer, { port: 1 }), "connect_refused");
});

real("a silent peer: nothing was sent", async () => {
  const held: Socket[] = [];
  const server = createServer((socket) => held.push(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const signer = keySigner(ed25519());
  const whenHeld = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => held.length > 0) } };
  expectNeverSent(await stand.send(signer, { port }, whenHeld), "deadline");
  expectNeverSent(await stand.send(signer, { port }, { options: { connectTimeoutMs: 1_000 } }), "connect_timeout");
  for (const socket of held) socket.destroy();
  server.close();
});

real("an unknown name: nothing was sent, and no connection was tried", async () => {
  const seen = await stand.send(keySigner(ed25519()), { host: "no-such-host.invalid" });
  expectNeverSent(seen, "name_not_resolved");
  assert.ok(seen.kind === "never_sent" && !seen.connected);
});

real("another host key of the same or another kind: nothing was signed or sent", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  expectNeverSent(await stand.send(signer, { hostKey: publicLine(keySigner(ed25519())) }), "host_key_mismatch");
  const ec = publicLine(keySigner(generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey));
  expectNeverSent(await stand.send(signer, { hostKey: ec }), "host_key_mismatch");
});

real("a host that changed its key is another host", async () => {
  const other = await startStand({ operations: { release_status: { executable: "/bin/true" } } });
  try {
    const signer = other.allow(ed25519(), other.receiverCommand);
    expectAnswered(await other.send(signer), 0);
    const file = join(other.folder, "host_key");
    rmSync(file);
    spawnSync("ssh-keygen", ["-q", "-N", "", "-t", "ed25519", "-f", file]);
    process.kill(other.sshdPid, "SIGHUP");
    // Until it has read its files anew it is the host that it was, or answers nobody.
    await until("it shows another key", async () => {
      const seen = await other.send(signer);
      return seen.kind === "never_sent" && seen.reason === "host_key_mismatch";
    });
  } finally {
    await other.stop();
  }
});

real("a key that the host does not know: nothing was sent", async () => {
  expectNeverSent(await stand.send(keySigner(ed25519())), "authentication_refused");
  expectNeverSent(await stand.send(keySigner(ed25519()), { user: "nobody-here" }), "authentication_refused");
});

real("a signer that refuses, fails or signs something else gets nothing sent", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  const throwing = { ...signer, sign: () => Promise.reject(new Error("locked")) };
  expectNeverSent(await stand.send(throwing), "credential_refused");
  const wrong = { ...signer, sign: (data: Buffer, flags: number) => keySigner(ed25519()).sign(data, flags) };
  expectNeverSent(await stand.send(wrong), "credential_refused");
});

real("one connection asks for one signature", async () => {
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  let signatures = 0;
  const counted = {
    ...signer,
    sign(data: Buffer, flags: number) {
      signatures++;
      return signer.sign(data, flags);
    },
  };
  expectAnswered(await stand.send(counted), 0);
  assert.equal(signatures, 1);
});

real("a missing receiver: the payload never left", async () => {
  expectNeverSent(await stand.send(stand.allow(ed25519(), "/nonexistent/gw-receiver")), "receiver_not_ready");
  expectNeverSent(await stand.send(forced("silent-exit", "exit 0")), "receiver_not_ready");
});

real("a receiver that never becomes ready: the payload never left", async () => {
  const marker = join(scripts, "mute-runs");
  const late = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => existsSync(marker)) } };
  expectNeverSent(await stand.send(forced("mute", `touch ${marker}; sleep 5`), {}, late), "deadline");
});

real("a connection killed before ready: the payload never left", async () => {
  expectNeverSent(await stand.send(forced("cut-early", "kill -9 $PPID; sleep 1")), "receiver_not_ready");
});

real("a connection killed after the payload is unknown", async () => {
  const script = `${READY}\n${READ_ID}\nkill -9 $PPID; sleep 1`;
  expectSilent(await stand.send(forced("cut-after-payload", script)), "connection_lost");
});

real("a connection killed after started is unknown", async () => {
  const script = `${READY}\n${READ_ID}\n${STARTED}\nsleep 0.2; kill -9 $PPID; sleep 1`;
  expectSilent(await stand.send(forced("cut-after-start", script)), "connection_lost");
});

for (const status of [0, 1, 255]) {
  real(`a receiver that exits ${status} after the payload without a last frame is unknown`, async () => {
    const script = `${READY}\n${READ_ID}\n${STARTED}\nexit ${status}`;
    expectSilent(await stand.send(forced(`exit-${status}`, script)), "connection_lost");
  });
}

real("a receiver killed by a signal after the payload is unknown", async () => {
  const script = `${READY}\n${READ_ID}\n${STARTED}\nkill -9 $$`;
  expectSilent(await stand.send(forced("self-kill", script)), "connection_lost");
});

real("a frozen server after the payload is unknown", async () => {
  const marker = join(scripts, "frozen");
  const script = `${READY}\n${READ_ID}\n${STARTED}\nkill -STOP $PPID; touch ${marker}; sleep 2; kill -CONT $PPID`;
  const late = { limits: { timeoutMs: DEADLINE }, options: { sleep: deadlineWhen(() => existsSync(marker)) } };
  expectSilent(await stand.send(forced("freeze", script), {}, late), "timeout");
});

real("stopping an attempt before the payload is never sent, after it unknown", async () => {
  const early = new AbortController();
  early.abort();
  const signer = stand.allow(ed25519(), stand.receiverCommand);
  expectNeverSent(await stand.send(signer, {}, { limits: { signal: early.signal } }), "aborted");
  const waiting = new AbortController();
  setTimeout(() => waiting.abort(), 800);
  expectNeverSent(await stand.send(forced("mute-2", "sleep 5"), {}, { limits: { signal: waiting.signal } }), "aborted");
  const marker = join(scripts, "running");
  const late = new AbortController();
  const sent = stand.send(
    forced("long", `${READY}\n${READ_ID}\n${STARTED}\ntouch ${marker}; sleep 5`),
    {},
    { limits: { signal: late.signal } },
  );
  await appears(marker);
  late.abort();
  expectSilent(await sent, "aborted");
});

const forgeries: readonly (readonly [string, string, "never_sent" | "silent"])[] = [
  ["a banner before ready", `echo hello`, "never_sent"],
  ["finished before ready", `printf '{"frame":"finished"}\\n'`, "never_sent"],
  ["ready again after the payload", `${READY}\n${READ_ID}\n${READY}`, "silent"],
  ["garbage after the payload", `${READY}\n${READ_ID}\necho garbage`, "silent"],
  [
    "a start of another request",
    `${READY}\n${READ_ID}\nprintf '{"frame":"started","request_id":"call_another1"}\\n'`,
    "silent",
  ],
  [
    "an end without a start",
    `${READY}\n${READ_ID}\nprintf '{"frame":"finished","request_id":"%s","exit_status":0,"signal":null,"timed_out":false,"truncated":false}\\n' "$id"`,
    "silent",
  ],
  [
    "two ends that differ",
    `${READY}\n${READ_ID}\n${STARTED}\nfor s in 0 1; do printf '{"frame":"finished","request_id":"%s","exit_status":%s,"signal":null,"timed_out":false,"truncated":false}\\n' "$id" $s; done`,
    "silent",
  ],
  [
    "an end with a member twice",
    `${READY}\n${READ_ID}\n${STARTED}\nprintf '{"frame":"finished","request_id":"%s","exit_status":1,"exit_status":0,"signal":null,"timed_out":false,"truncated":false}\\n' "$id"`,
    "silent",
  ],
  ["half an end", `${READY}\n${READ_ID}\n${STARTED}\nprintf '{"frame":"finished","request_id":"%s"' "$id"`, "silent"],
  ["a line without end", `${READY}\n${READ_ID}\nhead -c 100000 /dev/zero | tr '\\0' x`, "silent"],
];
describe("forged frames", { concurrency: 4 }, () => {
  for (const [name, script, kind] of forgeries) {
    real(name, async () => {
      const seen = await stand.send(forced(`forged-${name.replaceAll(" ", "-")}`, script));
      if (kind === "silent") expectSilent(seen, "response_malformed");
      else expectNeverSent(seen, "receiver_not_ready");
    });
  }
});

real("a flood of well-formed output ends in unknown and does not fill the gateway", async () => {
  const line = `{"frame":"output","stream":"stdout","data":"${"QUFB".repeat(5_000)}"}`;
  writeFileSync(join(scripts, "line"), `${line}\n`);
  const script = `${READY}\n${READ_ID}\n${STARTED}\nwhile :; do cat ${join(scripts, "line")} || exit; done`;
  expectSilent(await stand.send(forced("flooder", script)), "response_too_large");
});
