import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { beginSshFile } from "./ssh-file.ts";
import { allowKeyFile, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { type Stand, startStand } from "./ssh-stand.ts";
import { call, type Gateway, type Home, type Members, openPlane, openRun, type Plane } from "./support/home.ts";

/** Budget and tickets hold for SSH as they hold for HTTP: one gateway, one way out. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

let stand: Stand;
let home: Home;
let gateway: Gateway;
let agent: Plane;

before(async () => {
  if (missing !== null) return;
  const restart = program("restart", `echo "$1" >> ${join(scripts, "restarted")}`);
  stand = await startStand({
    operations: {
      release_status: { executable: "/bin/true" },
      restart_worker: {
        executable: restart,
        arguments: [{ field: "worker" }],
        fields: { worker: { first: "a-z", characters: "a-z0-9-", max: 32 } },
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
  existsSync(join(scripts, "restarted")) ? readFileSync(join(scripts, "restarted"), "utf8").trimEnd().split("\n") : [];

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
