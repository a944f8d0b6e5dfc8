import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before } from "node:test";
import { readSshPublicLine, sshFingerprint } from "../src/kernel/ssh-key.ts";
import { beginSshFile } from "./ssh-file.ts";
import {
  allowKeyFile,
  callApproved,
  callFinished,
  makeKeyFile,
  makeSshHome,
  observed,
  publicHalf,
  sshMember,
} from "./ssh-home.ts";
import { type Stand, startStand } from "./ssh-stand.ts";
import { call, codeOf, type Gateway, type Home, type Members, openPlane, until } from "./support/home.ts";
import { idIn, idOf } from "./support/reply.ts";
import { sampleOf } from "./support/whole.ts";

/** SSH through the real gateway: the programs that a person starts, a real sshd, the receiver as its forced command. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

const at = (name: string) => join(scripts, name);
let stand: Stand;
let home: Home;
let gateway: Gateway;
let otherKey = "";

before(async () => {
  if (missing !== null) return;
  const worker = { first: "a-z", characters: "a-z0-9-", max: 32 };
  stand = await startStand({
    operations: {
      release_status: { executable: program("release-status", `printf '{"release":"r41"}'`), arguments: ["--json"] },
      restart_worker: {
        executable: program("restart-worker", `echo "$1" >> ${at("restarted")}; echo "restarted $1"`),
        arguments: [{ field: "worker" }],
        fields: { worker },
      },
      fail_worker: { executable: program("fail-worker", "echo broken >&2; exit 7") },
      lose_worker: { executable: program("lose-worker", `touch ${at("losing")}; sleep 20`), timeout_s: 30 },
      hold_worker: {
        executable: program("hold-worker", `touch ${at("held")}; while [ ! -e ${at("let-go")} ]; do sleep 0.1; done`),
        timeout_s: 60,
      },
    },
  });
  const keyFile = makeKeyFile(scripts, "id");
  otherKey = publicHalf(makeKeyFile(scripts, "other_host"));
  allowKeyFile(stand, keyFile);
  // Bound to both host keys: what keeps the request back below is the host, not the vault.
  home = await makeSshHome(keyFile, [stand.hostKey, otherKey]);
  await home.trustPack("ops", pack());
  gateway = await home.up();
});

after(async () => {
  writeFileSync(at("let-go"), "");
  await gateway?.end();
  if (missing === null) await stand.stop();
  removeScripts();
});

function pack(): string {
  const ssh = (action: string, hostKey?: string, more?: string) => sshMember(stand, action, hostKey, more);
  return `format: gw.pack/v1
pack: ops
actions:
  release.status:
    effect: read
    ssh: ${ssh("release_status")}
  worker.restart:
    effect: write
    needs: { approval: each_use }
    ssh: ${ssh("restart_worker")}
    input: { worker: { type: string, pattern: "^[^!]+$", maxLength: 64 } }
  worker.fail:
    effect: write
    ssh: ${ssh("fail_worker")}
  worker.fail.recorded:
    effect: write
    ssh: ${ssh("fail_worker", stand.hostKey, ", recording: on")}
  worker.hold:
    effect: write
    ssh: ${ssh("hold_worker")}
  worker.lose:
    effect: write
    ssh: ${ssh("lose_worker")}
  worker.vanish:
    effect: write
    ssh: ${ssh("vanish_worker")}
  elsewhere.restart:
    effect: write
    ssh: ${ssh("restart_worker", otherKey)}
    input: { worker: { type: string, pattern: "^[^!]+$", maxLength: 64 } }
`;
}

const finished = (args: readonly string[], look?: (card: Members) => void | Promise<void>) =>
  callFinished(home, args, look);

real("a person approves, the receiver runs the operation, the agent gets what it wrote: exit 0", async () => {
  const { code, result, err, run } = await finished(["ops.release.status"], (card) => {
    const scope = card["scope"] as Members;
    const where = `${stand.user}@127.0.0.1:${stand.port}, host key ${fingerprintOf(stand.hostKey)}`;
    assert.deepEqual(scope["ssh_destinations"], [where], "a session is for a host by its key");
    assert.deepEqual([scope["hosts"], scope["credentials"]], [[], ["ops-key"]]);
    assert.deepEqual(scope["paths"], ["ssh release_status"], "the command family, by the receiver's name");
  });
  assert.equal(code, 0, err);
  const response = result["response"] as Members;
  assert.deepEqual([result["outcome"], response["status"], response["body"]], ["success", 0, '{"release":"r41"}']);
  const [entry] = await home.activity(run);
  assert.equal(entry?.["channel"], "ssh");
  assert.equal(entry?.["target"], `${stand.user}@127.0.0.1:${stand.port}`);
  assert.equal(entry?.["outcome"], "succeeded");
  const shown = await home.must(["activity", "--run", run]);
  assert.match(shown.out, / → ssh \S+@127\.0\.0\.1:\d+ with ops-key$/m);
});

real("the card shows host, host key, user, operation and the exact fields; the host keeps its own record", async () => {
  const fingerprint = fingerprintOf(stand.hostKey);
  const { code, result, err, run } = await finished(["ops.worker.restart", "worker=web-1"], async (card) => {
    const asked = card["call"] as Members;
    assert.equal(asked["channel"], "ssh");
    assert.equal(
      asked["target"],
      `${stand.user}@127.0.0.1:${stand.port} restart_worker, host key ${fingerprint}`,
      "everything that decides where it goes",
    );
    assert.deepEqual(asked["arguments"], { worker: "web-1" });
    assert.equal(existsSync(at("restarted")), false, "nothing before the approval");
    const shown = (await home.must(["approvals"])).out;
    for (const part of [fingerprint, "restart_worker", `${stand.user}@127.0.0.1`, 'worker = "web-1"'])
      assert.ok(shown.includes(part), `${part}\n${shown}`);
  });
  assert.equal(code, 0, err);
  assert.equal((result["response"] as Members)["body"], "restarted web-1\n");
  assert.equal(readFileSync(at("restarted"), "utf8"), "web-1\n");
  const [entry] = await home.activity(run);
  const record = readFileSync(join(stand.state, "requests", String(entry?.["attempt_id"])), "utf8");
  assert.match(record, /"operation":"restart_worker"/, "one identifier joins our log with the host's");
  const traced = (await home.must(["activity", "show", String(entry?.["attempt_id"])])).out;
  assert.ok(
    traced.includes(
      `sent     ssh ${stand.user}@127.0.0.1:${stand.port} restart_worker, host key ${fingerprint}  (the same)`,
    ),
    traced,
  );
  assert.equal(traced.includes("(ANOTHER)"), false, traced);
});

real("a hostile field is refused by the receiver, and the outcome is an error that ran nothing", async () => {
  const ran = readFileSync(at("restarted"), "utf8");
  // The receiver's own tests have the whole list, and ssh-transport sends some of it to a host.
  for (const worker of sampleOf("hostile fields of an agent", ["$(touch x)", "-rf", "web-1\nweb-2", "wеb-1"], 1)) {
    const { code, result } = await finished(["ops.worker.restart", `worker=${worker}`]);
    assert.deepEqual([code, ...observed(result).slice(0, 2)], [1, "error", "answered"]);
    const { headers } = result["response"] as Members;
    assert.deepEqual(headers, { frame: "refused", code: "field_not_allowed" });
  }
  assert.equal(readFileSync(at("restarted"), "utf8"), ran);
});

real("an operation that the manifest does not have is refused: an error, exit 1", async () => {
  const { code, result, run } = await finished(["ops.worker.vanish"]);
  assert.equal(code, 1);
  assert.deepEqual((result["response"] as Members)["headers"], { frame: "refused", code: "action_unknown" });
  const [entry] = await home.activity(run);
  assert.deepEqual([entry?.["outcome"], entry?.["reason"]], ["failed", "action_unknown"]);
});

real("an exit status other than zero is an error with what the operation wrote", async () => {
  const { code, result } = await finished(["ops.worker.fail"]);
  const response = result["response"] as Members;
  assert.deepEqual([code, result["outcome"], response["status"], response["body"]], [1, "error", 7, "broken\n"]);
});

real("another host key than the pinned one: never sent, although the vault would lend the key", async () => {
  const ran = readFileSync(at("restarted"), "utf8");
  const { code, result, run } = await finished(["ops.elsewhere.restart", "worker=web-1"]);
  assert.equal(code, 1);
  assert.deepEqual(observed(result), ["error", "never_sent", "host_key_mismatch"]);
  assert.equal(readFileSync(at("restarted"), "utf8"), ran);
  const [entry] = await home.activity(run);
  assert.deepEqual([entry?.["outcome"], entry?.["reason"]], ["failed", "host_key_mismatch"]);
});

real("a connection killed after the operation started is unknown: exit 5, and the log says so", async () => {
  const { calling, run } = await callApproved(home, ["ops.worker.hold"]);
  await until("the operation runs", () => existsSync(at("held")));
  stand.cut();
  const done = await calling.exited;
  assert.equal(done.code, 5, `${done.err}${gateway.err()}`);
  const result = JSON.parse(done.out) as Members;
  assert.deepEqual(observed(result), ["unknown", "silent", "connection_lost"]);
  const [entry] = await home.activity(run);
  assert.deepEqual([entry?.["outcome"], entry?.["channel"]], ["unknown", "ssh"]);
  const of = (events: readonly Members[]) => events.filter((event) => (event["run_id"] ?? event["run"]) === run);
  const [unobserved] = of(await home.events("outcome_unobserved"));
  assert.equal(unobserved?.["reason"], "connection_lost");
  const [ended] = of(await home.events("action_finished"));
  assert.deepEqual([ended?.["outcome"], ended?.["evidence"]], ["unknown", "local_completion"]);
  // The host goes on to the end and records it, which is what asking later will find.
  writeFileSync(at("let-go"), "");
  const record = join(stand.state, "requests", String(entry?.["attempt_id"]));
  await until("the host records the end", () => readFileSync(record, "utf8").includes('"exit_status":0'));
  // The gateway asks the receiver for its record, and never sends the operation again.
  assert.match(idOf(result, "operation_id"), /^op_/);
  const attempt = entry?.["attempt_id"];
  const [found] = await until(
    "the gateway finds out",
    async () => {
      const events = await home.events("reconciled_success", "reconciled_failure");
      const ours = events.filter((event) => event["attempt_id"] === attempt);
      return ours.length > 0 && ours;
    },
    90_000,
  );
  assert.deepEqual(
    [found?.["event_type"], found?.["source"], found?.["evidence"]],
    ["reconciled_success", "ops.request_status", "reconciliation_read"],
  );
  const held = readdirSync(join(stand.state, "requests")).map((id) => readFileSync(join(stand.state, "requests", id)));
  assert.equal(held.filter((events) => events.includes('"operation":"hold_worker"')).length, 1);
});

real("a host that lost its record of what it said it started proves nothing by that: a person settles it", async () => {
  const { calling, run } = await callApproved(home, ["ops.worker.lose"]);
  await until("the operation runs", () => existsSync(at("losing")));
  const records = join(stand.state, "requests");
  const lost = readdirSync(records).filter((name) => readFileSync(join(records, name)).includes("lose_worker"));
  for (const name of lost) rmSync(join(records, name));
  stand.cut();
  const done = await calling.exited;
  assert.equal(done.code, 5, done.err);
  const id = idOf(JSON.parse(done.out) as Members, "operation_id");
  const shown = await until(
    "it waits for a person",
    async () => {
      const { out } = await home.must(["operation", "show", id, "--json"]);
      return out.includes("operation_needs_person") && out;
    },
    60_000,
  );
  assert.match(String(shown), /has no record of it any more/);
  assert.equal((await home.events("reconciled_failure")).filter((event) => event["run_id"] === run).length, 0);
});

real("a session for one operation does not reach another on the same host", async () => {
  const plane = openPlane(home.agentSocket);
  try {
    const asked = await plane.ask("POST", "/v1/runs", {
      purpose: "to look",
      actions: ["ops.release.status"],
      budget: {},
    });
    await home.approve(idIn(asked, "approval_id"));
    const run = idIn(asked, "run_id");
    const refused = await call(plane, run, "ops.worker.fail", {});
    assert.deepEqual([refused.status, refused.body["code"]], [403, "action_not_permitted"]);
    assert.equal((await call(plane, run, "ops.release.status", {})).body["outcome"], "success");
  } finally {
    plane.close();
  }
});

real("a recording is sealed beside the log, its digest is in the log, and only a key holder gets it back", async () => {
  const { run } = await finished(["ops.worker.fail.recorded"]);
  const [entry] = await home.activity(run);
  const attempt = String(entry?.["attempt_id"]);
  const file = join(home.folder, "audit", "recordings", `${attempt}.gwrec`);
  assert.ok(!readFileSync(file).includes("broken"), "nothing of it is in clear");
  const [ended] = (await home.events("action_finished")).filter((event) => event["attempt_id"] === attempt);
  assert.match(String(ended?.["recording_digest"]), /^sha256:/);
  const show = ["activity", "show", attempt];
  const [head, line] = (await home.must([...show, "--recording"])).out
    .split("\n")
    .map((text) => JSON.parse(text || "0"));
  assert.equal(head.version, 2);
  assert.deepEqual(line.slice(1), ["o", "broken\r\n"]);
  assert.equal(JSON.parse((await home.must([...show, "--json"])).out).attempts[0].attempt_id, attempt);
  assert.equal((await home.verify(["--allow-unattested"])).code, 0, "the log still verifies");
  // Where the part of the log that tells of it was archived, the recording is still there.
  const twin = home.copy();
  for (const _ of [1, 2]) await (await twin.up(["--locked"])).end("SIGTERM");
  const archive = join(dirname(twin.folder), "archive");
  await twin.must(["audit", "archive", archive, "--keep-megabytes", "0"]);
  assert.equal(codeOf(await twin.operator([...show, "--recording"])), "not_found");
  assert.match((await twin.must([...show, "--recording", "--log", archive])).out, /broken/);
  // Another recording in its place, an attempt that has none, and one that nobody made.
  const [plain] = (await home.events("action_finished")).filter((event) => event["attempt_id"] !== attempt);
  const codes = async (id: string) => codeOf(await home.operator(["activity", "show", id, "--recording"]));
  assert.equal(await codes(idOf(plain, "attempt_id")), "not_found");
  assert.equal(await codes("evt_nosuch"), "not_found");
  writeFileSync(file, readFileSync(file).subarray(0, -1));
  assert.equal(await codes(attempt), "log_unreadable");
});

real("gw ssh check has the gateway try the host with the vault's key, and the log keeps what it showed", async () => {
  const where = ["ssh", "check", "127.0.0.1", "--credential", "ops-key", "--user", stand.user];
  const pinned = [...where, "--port", String(stand.port), "--host-key"];
  const done = await home.operator([...pinned, stand.hostKey, "--json"]);
  const rows = done.out.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Members]));
  assert.equal(done.code, 0, `${done.err}${done.out}`);
  assert.deepEqual(new Set(rows.map(({ verdict }) => verdict)), new Set(["permitted", "refused"]));
  assert.deepEqual(
    rows.filter(({ verdict }) => verdict === "permitted").map(({ probe }) => probe),
    ["run"],
  );
  const [started] = await home.events("ssh_check_started");
  const [ended] = await home.events("ssh_check_finished");
  assert.equal(started?.["destination"], `${stand.user}@127.0.0.1:${stand.port}`);
  assert.equal(started?.["credential_label"], "ops-key");
  assert.equal(ended?.["check_id"], started?.["check_id"]);
  const results = (ended?.["results"] ?? []) as readonly Members[];
  assert.deepEqual(
    results.map(({ probe, verdict }) => [probe, verdict]),
    rows.map(({ probe, verdict }) => [probe, verdict]),
  );
  // A host with another key than the one said gets no signature, and nothing is called good.
  const other = await home.operator([...pinned, otherKey, "--json"]);
  assert.equal(other.code, 1);
  assert.ok(
    other.out.split("\n").every((line) => line === "" || line.includes('"verdict":"unclear"')),
    other.out,
  );
  // A key that the credential is not bound to is not even tried.
  const foreign = await home.operator([...pinned, publicHalf(makeKeyFile(scripts, "foreign_host"))]);
  assert.deepEqual([foreign.code, codeOf(foreign)], [1, "credential_not_bound"]);
  const unsaid = await home.operator([...where, "--port", String(stand.port)]);
  assert.deepEqual([unsaid.code, codeOf(unsaid)], [1, "credential_not_bound"]);
  assert.equal((await home.events("ssh_check_started")).length, 2);
});

real("the way to check a host is closed to whoever has not logged in", async () => {
  const plane = openPlane(home.operatorSocket);
  try {
    const target = { host: "127.0.0.1", port: stand.port, user: stand.user, host_key: stand.hostKey };
    const refused = await plane.ask("POST", "/v1/ssh/check", { ...target, credential: "ops-key" });
    assert.deepEqual([refused.status, refused.body["code"]], [401, "operator_not_logged_in"]);
  } finally {
    plane.close();
  }
});

real("a locked gateway lends no key, and leaves no helper, socket or key file behind", async () => {
  await home.must(["lock"]);
  const done = await home.run(["call", "ops.release.status", "--wait", "5"]);
  assert.deepEqual([done.code, codeOf(done)], [4, "gateway_locked"]);
  assert.deepEqual(readdirSync(join(home.folder, "ssh")), []);
  await home.must(["unlock"]);
});

function fingerprintOf(hostKey: string): string {
  const key = readSshPublicLine(hostKey) ?? assert.fail("not a key");
  return sshFingerprint(key.blob);
}
