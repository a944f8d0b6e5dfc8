import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { createAnswerRoom } from "../src/gateway/answer-room.ts";
import type { Sleep } from "../src/kernel/clock.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { expectAnswered } from "./ssh-expect.ts";
import { beginSshFile } from "./ssh-file.ts";
import { allowKeyFile, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { ed25519, realSleep, type Stand, startStand } from "./ssh-stand.ts";
import { call, type Gateway, type Home, type Members, openPlane, openRun, type Plane, until } from "./support/home.ts";
import { idIn, idOf } from "./support/reply.ts";

/**
 * Budget, tickets, plans and the room of large answers hold for SSH as they hold for HTTP, because there is one gateway, and one way out: with a
 * real sshd, client, receiver, and gateway.
 */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

const LARGE = 1_000_000;
const MOST = 4_194_304;
const at = (name: string) => join(scripts, name);
let stand: Stand;
let home: Home;
let gateway: Gateway;
let agent: Plane;

const preview = {
  mode: "preview",
  executable: true,
  validation: [],
  plan_id: "plan-1",
  expires_at: "2999-01-01T00:00:00Z",
  request_digest: "",
  read_revisions: [{ resource: "releases/web", revision: "r41" }],
  effects: [
    {
      relation: "direct",
      resource: "releases/web",
      revision: "r41",
      previous: { release: "r41" },
      proposed: { release: "r42" },
      cause: "request",
    },
  ],
};

before(async () => {
  if (missing !== null) return;
  const word = { first: "a-z0-9", characters: "a-z0-9-", max: 32 };
  writeFileSync(at("release"), "r41");
  writeFileSync(at("preview.json"), JSON.stringify(preview));
  const print = `yes | head -c ${LARGE}`;
  stand = await startStand({
    operations: {
      release_status: { executable: program("release-status", `printf '{"release":"%s"}' "$(cat ${at("release")})"`) },
      restart_worker: {
        executable: program("restart", `echo "$1" >> ${at("restarted")}`),
        arguments: [{ field: "worker" }],
        fields: { worker: { first: "a-z", characters: "a-z0-9-", max: 32 } },
      },
      plan_release: {
        executable: program("plan-release", `cat ${at("preview.json")}`),
        arguments: [{ field: "release" }],
        fields: { release: word },
      },
      apply_release: {
        executable: program(
          "apply-release",
          `echo "$1 $2" >> ${at("applied")}; if [ -e ${at("moved")} ]; then printf '{"code":"plan_stale","changed":["releases/web"]}'; exit 9; fi; printf r42 > ${at("release")}; printf '{"release":"r42"}'`,
        ),
        arguments: [{ field: "plan_id" }, { field: "expected_revision" }],
        fields: { plan_id: word, expected_revision: word },
      },
      large: { executable: program("large", print), output_bytes: MOST },
      // It ends when the test has seen what is held meanwhile.
      held: {
        executable: program("held", `${print}; while [ ! -e ${at("seen")} ]; do sleep 0.1; done`),
        output_bytes: MOST,
        timeout_s: 120,
      },
    },
  });
  const keyFile = makeKeyFile(scripts, "id");
  allowKeyFile(stand, keyFile);
  home = await makeSshHome(keyFile, [stand.hostKey]);
  const nowhere = sshMember(stand, "release_status").replace(`port: ${stand.port}`, "port: 1");
  await home.trustPack(
    "ops",
    `format: gw.pack/v1
pack: ops
actions:
  release.status:
    effect: read
    ssh: ${sshMember(stand, "release_status")}
  nowhere.restart:
    effect: write
    ssh: ${nowhere}
  worker.restart:
    effect: write
    ssh: ${sshMember(stand, "restart_worker")}
    input: { worker: { type: string, pattern: "^[a-z0-9-]+$", maxLength: 64 } }
  worker.ticketed:
    effect: write
    needs: { ticket: true }
    ssh: ${sshMember(stand, "restart_worker")}
    input: { worker: { type: string, pattern: "^[a-z0-9-]+$", maxLength: 64 } }
  release.plan:
    effect: preview
    ssh: ${sshMember(stand, "plan_release")}
    input: { release: { type: string, pattern: "^[a-z0-9-]+$", maxLength: 32 } }
  release.apply:
    effect: write
    needs: { plan: release.plan }
    ssh: ${sshMember(stand, "apply_release")}
    plan: { id: { in: field, as: plan_id }, revision: { in: field, as: expected_revision } }
    confirm: release.status
  log.read:
    effect: read
    ssh: ${sshMember(stand, "held")}
`,
  );
  gateway = await home.up();
  agent = openPlane(home.agentSocket);
});

after(async () => {
  agent?.close();
  await gateway?.end();
  if (missing === null) await stand.stop();
  removeScripts();
});

const seenByHost = () =>
  existsSync(join(stand.state, "requests")) ? readdirSync(join(stand.state, "requests")).length : 0;
const restarted = () =>
  existsSync(at("restarted")) ? readFileSync(at("restarted"), "utf8").trimEnd().split("\n") : [];

real("the attempts of a run end its operations on hosts, and what is refused does not leave", async () => {
  const run = await openRun(home, agent, ["ops.release.status"], { attempts: 2 });
  const before = seenByHost();
  for (let turn = 0; turn < 2; turn++) {
    assert.equal((await call(agent, run, "ops.release.status", {})).body["outcome"], "success");
  }
  const refused = await call(agent, run, "ops.release.status", {});
  assert.deepEqual([refused.status, refused.body["code"]], [403, "attempts_exhausted"]);
  assert.equal(seenByHost() - before, 2);
});

real("a write on a host counts as a side effect, and a connection that failed as an attempt", async () => {
  const actions = ["ops.worker.restart", "ops.nowhere.restart", "ops.release.status"];
  const run = await openRun(home, agent, actions, { attempts: 3, side_effects: 2 });
  const failed = await call(agent, run, "ops.nowhere.restart", {});
  assert.deepEqual(
    [failed.body["outcome"], (failed.body["transport_observation"] as Members)["kind"]],
    ["error", "never_sent"],
  );
  assert.equal((await call(agent, run, "ops.worker.restart", { worker: "web-1" })).body["outcome"], "success");
  const refused = await call(agent, run, "ops.worker.restart", { worker: "web-2" });
  assert.deepEqual([refused.status, refused.body["code"]], [403, "side_effects_exhausted"]);
  assert.equal(
    (await call(agent, run, "ops.release.status", {})).body["outcome"],
    "success",
    "reads are counted apart",
  );
  assert.equal((await call(agent, run, "ops.release.status", {})).body["code"], "attempts_exhausted");
  assert.deepEqual(restarted(), ["web-1"]);
});

real("a ticket opens one operation on one host with one argument, and the intent carries it", async () => {
  const run = await openRun(home, agent, ["ops.worker.ticketed"]);
  const where = `ssh://${stand.user}@127.0.0.1:${stand.port}`;
  const scope = ["--operation", "ops.worker.ticketed", "--target", `${where}?worker=web-3`];
  await home.must(["ticket", "issue", run, "--ref", "jira:OPS-17", ...scope, "--minutes", "5"]);
  const done = await call(agent, run, "ops.worker.ticketed", { worker: "web-3" });
  assert.equal(done.body["outcome"], "success", done.text);
  const [intent] = (await home.events("action.intent")).filter((event) => event["agent_run_id"] === run);
  const { ticket, action } = (intent ?? {}) as { readonly ticket?: Members; readonly action?: Members };
  assert.deepEqual([ticket?.["reference"], action?.["channel"]], ["OPS-17", "ssh"]);
  const other = await call(agent, run, "ops.worker.ticketed", { worker: "web-4" });
  assert.deepEqual([other.status, other.body["code"]], [403, "ticket_scope_mismatch"]);
  assert.deepEqual(restarted(), ["web-1", "web-3"]);
});

async function openPlanRun(): Promise<string> {
  const opened = await agent.ask("POST", "/v1/runs", { purpose: "release", actions: ["ops.release.*"] });
  await home.approve(idIn(opened, "approval_id"));
  return idIn(opened, "run_id");
}

const wait = { prefer: "wait=30" };

async function plan(run: string): Promise<Members> {
  const asked = { action: "ops.release.apply", input: { release: "r42" } };
  const planned = await agent.ask("POST", `/v1/runs/${run}/plans`, asked, wait);
  assert.equal(planned.body["outcome"], "success", planned.text);
  return planned.body["plan"] as Members;
}

function execute(
  planned: Members,
): Promise<{ readonly status: number; readonly body: Members; readonly text: string }> {
  const path = `/v1/plans/${idOf(planned, "plan_id")}/execute`;
  return agent.ask("POST", path, { expected_revision: "r41" }, wait);
}

real(
  "a plan on a host is carried out by its identifier and the expected revision alone, once, and confirmed",
  async () => {
    const run = await openPlanRun();
    const refused = await agent.ask("POST", `/v1/runs/${run}/calls`, { action: "ops.release.apply", input: {} }, wait);
    assert.equal(refused.body["code"], "plan_required", refused.text);
    const planned = await plan(run);
    assert.equal(existsSync(at("applied")), false, "a preview runs its own operation and no other");
    const done = await execute(planned);
    assert.deepEqual([done.body["outcome"], done.body["confirmed"]], ["success", true], done.text);
    assert.equal(readFileSync(at("applied"), "utf8"), "plan-1 r41\n");
    const again = await execute(planned);
    assert.equal(again.status, 409, again.text);
    assert.equal(readFileSync(at("applied"), "utf8"), "plan-1 r41\n", "a plan is used once");
  },
);

real("a host that says plan_stale leaves the plan spent and says what changed", async () => {
  writeFileSync(at("moved"), "");
  const run = await openPlanRun();
  const stale = await execute(await plan(run));
  assert.deepEqual([stale.status, stale.body["code"]], [409, "plan_stale"], stale.text);
  assert.deepEqual(stale.body["changed"], ["releases/web"]);
});

real("what an operation prints is a preview only where it says so", async () => {
  writeFileSync(at("preview.json"), JSON.stringify({ ...preview, mode: "done" }));
  const run = await openPlanRun();
  const asked = { action: "ops.release.apply", input: { release: "r42" } };
  const refused = await agent.ask("POST", `/v1/runs/${run}/plans`, asked, wait);
  assert.equal(refused.body["code"], "preview_invalid", refused.text);
});

const others = { callerKey: "others" };
const own = { callerKey: "own" };

/** A room that others have nearly all of. */
function fullRoom() {
  const room = createAnswerRoom(MOST);
  assert.ok(room.take(others, MOST, () => undefined));
  return room;
}

function sendLarge(room: ReturnType<typeof createAnswerRoom>, sleep: Sleep) {
  const limits = { responseBytes: 2 * MOST, room, holder: own };
  return stand.send(stand.allow(ed25519(), stand.receiverCommand), { action: "large" }, { limits, options: { sleep } });
}

real("output that finds room while it waits comes whole, and its place is as large as the answer", async () => {
  const room = fullRoom();
  const sending = sendLarge(room, {
    async sleep(ms, signal) {
      if (ms === defaults.sshRoomWaitMs) room.leave(others);
      return realSleep.sleep(ms, signal);
    },
  });
  const { text, headers } = expectAnswered(await sending, 0);
  assert.deepEqual([text.length, headers["truncated"]], [LARGE, undefined]);
  assert.deepEqual(room.status(), { heldBytes: LARGE, waiting: 0 });
});

real("output that finds no room in time is cut, and how the operation ended is known", async () => {
  const room = fullRoom();
  const sleep: Sleep = {
    sleep: (ms, signal) => realSleep.sleep(ms === defaults.sshRoomWaitMs ? 0 : ms, signal),
  };
  const { text, headers } = expectAnswered(await sendLarge(room, sleep), 0);
  assert.equal(headers["truncated"], "true");
  assert.ok(text.length > defaults.smallAnswerBytes && text.length < LARGE, String(text.length));
  assert.deepEqual(room.status(), { heldBytes: MOST, waiting: 0 });
});

real("a gateway counts what a host sends among the large answers, until it was read", async () => {
  const heldBytes = async () =>
    Number(/^gw_answers_bytes ([0-9.e+]+)$/m.exec((await home.run(["metrics"])).out)?.[1] ?? "none");
  const run = await openRun(home, agent, ["ops.log.read"]);
  const calling = call(agent, run, "ops.log.read", {});
  await until("it has a place", async () => (await heldBytes()) >= MOST);
  writeFileSync(at("seen"), "");
  const { body, text } = await calling;
  assert.equal(body["outcome"], "success", text.slice(0, 1_000));
  assert.equal((body["response"] as { body: string }).body.length, LARGE);
  await until("it is given back", async () => (await heldBytes()) === 0);
});
