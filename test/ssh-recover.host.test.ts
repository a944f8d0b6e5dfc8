import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { beginSshFile } from "./ssh-file.ts";
import { allowKeyFile, callApproved, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { type Stand, startStand } from "./ssh-stand.ts";
import { type Gateway, type Home, type Members, until } from "./support/home.ts";

/** A gateway that is killed in the middle of an SSH action, a host that goes on, and what the next start makes of it. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

const at = (name: string) => join(scripts, name);
let stand: Stand;
let home: Home;
let gateway: Gateway;

before(async () => {
  if (missing !== null) return;
  const hold = `touch ${at("held")}-$1; while [ ! -e ${at("let-go")}-$1 ]; do sleep 0.1; done; [ "$1" != bad ]`;
  stand = await startStand({
    operations: {
      hold_worker: {
        executable: program("hold-worker", hold),
        arguments: [{ field: "worker" }],
        fields: { worker: { characters: "a-z", max: 8 } },
        timeout_s: 120,
      },
    },
  });
  const keyFile = makeKeyFile(scripts, "id");
  allowKeyFile(stand, keyFile);
  home = await makeSshHome(keyFile, [stand.hostKey]);
  await home.trustPack(
    "ops",
    `format: gw.pack/v1
pack: ops
actions:
  worker.hold:
    effect: write
    ssh: ${sshMember(stand, "hold_worker")}
    input: { worker: { type: string, enum: [good, bad, gone, never] } }
`,
  );
  gateway = await home.up();
  await killInTheMiddle();
});

after(async () => {
  for (const worker of ["good", "bad", "gone", "never"]) writeFileSync(`${at("let-go")}-${worker}`, "");
  await gateway?.end();
  if (missing === null) await stand.stop();
  removeScripts();
});

const records = () => join(stand.state, "requests");
/** The host's records of this operation for this worker: one a run of it. */
const recordsOf = (worker: string) =>
  readdirSync(records())
    .map((id) => ({ file: join(records(), id), text: readFileSync(join(records(), id), "utf8") }))
    .filter(({ text }) => text.includes('"operation":"hold_worker"') && text.includes(`"worker":"${worker}"`));
const runsOf = (worker: string) => recordsOf(worker).map(({ text }) => text);

/** The attempt of each worker that was on its way when the gateway was killed. */
const attempts = new Map<string, string>();

/** Four at once: three whose payload has left, one of which the host forgets, and one that a server which does not go on keeps from leaving. */
async function killInTheMiddle(): Promise<void> {
  const begun = new Map<string, Awaited<ReturnType<typeof callApproved>>>();
  const begin = async (worker: string, when: () => boolean): Promise<void> => {
    begun.set(worker, await callApproved(home, ["ops.worker.hold", `worker=${worker}`]));
    await until(`the time has come to kill during ${worker}`, when);
  };
  // The first was heard to have started long before the last is on its way.
  for (const worker of ["gone", "good", "bad"]) await begin(worker, () => existsSync(`${at("held")}-${worker}`));
  const there = clients();
  process.kill(stand.sshdPid, "SIGSTOP");
  try {
    await begin("never", () => clients() > there);
    process.kill(gateway.pid, "SIGKILL");
    await gateway.end();
    for (const { file } of recordsOf("gone")) rmSync(file);
  } finally {
    process.kill(stand.sshdPid, "SIGCONT");
  }
  for (const { calling } of begun.values())
    assert.notEqual((await calling.exited).code, 0, "nobody told the agent that it was done");
  gateway = await home.up();
  for (const [worker, { run }] of begun) {
    const [entry] = await home.activity(run);
    attempts.set(worker, String(entry?.["attempt_id"]));
  }
}

const attemptOf = (worker: string): string => attempts.get(worker) ?? assert.fail();

/** Clients of ours that stand before the server: each has a private folder. */
const clients = (): number => readdirSync(join(home.folder, "ssh")).length;

/** What the log says of an attempt, once its end was found out. */
async function foundOut(attempt: string): Promise<Members> {
  return until(
    "the gateway finds out",
    async () => {
      const events = await home.events("reconciled_success", "reconciled_failure");
      return events.find((event) => event["attempt_id"] === attempt);
    },
    120_000,
  );
}

async function outcomesOf(attempt: string): Promise<readonly unknown[]> {
  const events = await home.events("outcome_unobserved", "action_finished");
  return events
    .filter((event) => event["attempt_id"] === attempt)
    .map((event) => event["outcome"] ?? event["event_type"]);
}

real("a write whose payload had left is unknown after kill -9, and the host's record says how it ended", async () => {
  const attempt = attemptOf("good");
  assert.ok((await outcomesOf(attempt)).includes("unknown"), "never a clean failure");
  assert.match(runsOf("good").join(), /action_started/);
  // The agent tries again while it runs on: it is told of the one that is open, and the host is not asked to do it twice.
  const { calling } = await callApproved(home, ["ops.worker.hold", "worker=good"]);
  const repeated = await calling.exited;
  assert.notEqual(repeated.code, 0);
  assert.match(repeated.out + repeated.err, /outcome_unsettled/);
  assert.equal(runsOf("good").length, 1);
  // It runs on without us; the receiver writes its end down, and asking finds it.
  writeFileSync(`${at("let-go")}-good`, "");
  const found = await foundOut(attempt);
  assert.deepEqual(
    [found["event_type"], found["source"], found["evidence"]],
    ["reconciled_success", "ops.request_status", "reconciliation_read"],
  );
  assert.equal(runsOf("good").length, 1, "asked about, and not run again");
});

real("an operation that failed while nobody listened is found out to have failed", async () => {
  const attempt = attemptOf("bad");
  writeFileSync(`${at("let-go")}-bad`, "");
  const found = await foundOut(attempt);
  assert.deepEqual([found["event_type"], found["source"]], ["reconciled_failure", "ops.request_status"]);
  assert.equal(runsOf("bad").length, 1);
});

real(
  "a host that lost its record of what it said it started proves nothing by that, though the gateway was killed meanwhile",
  async () => {
    const attempt = attemptOf("gone");
    // It is an operation by its attempt.
    const id = attempt.replace(/^evt_/, "op_");
    const shown = await until(
      "it waits for a person",
      async () => {
        const { out } = await home.must(["operation", "show", id, "--json"]);
        return out.includes("operation_needs_person") && out;
      },
      60_000,
    );
    assert.match(String(shown), /has no record of it any more/);
    const failed = await home.events("reconciled_failure");
    assert.ok(!failed.some((event) => event["attempt_id"] === attempt));
  },
);

real("a write that had not left is proven absent, and its identifier can never run any more", async () => {
  // The intent is on our disk all the same.
  const attempt = attemptOf("never");
  assert.ok((await outcomesOf(attempt)).includes("unknown"));
  const found = await foundOut(attempt);
  assert.equal(found["event_type"], "reconciled_failure");
  assert.deepEqual(runsOf("never"), []);
  assert.match(readFileSync(join(records(), attempt), "utf8"), /request_fenced/);
  assert.equal(existsSync(`${at("held")}-never`), false);
});
