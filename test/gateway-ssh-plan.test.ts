import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { SshTransport } from "../src/gateway/ports.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { PlanId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { previewBody } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";

/** Plans on a host that the test speaks for; a real one is in ssh-plan.host. */
const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxb8Bcx0J54VpGYWQGqluHDJuT0CS5TTjsnIlOAxIRR";
const ssh = (action: string) =>
  `ssh: { host: host.example, port: 22, user: ops, host_key: "${HOST_KEY}", credential: ops-key, action: ${action} }`;
const PACK = `
format: gw.pack/v1
pack: ops
actions:
  release.plan:
    effect: preview
    ${ssh("plan_release")}
    input: { release: { type: string, pattern: "^[a-z0-9-]+$", maxLength: 32 } }
  release.apply:
    effect: write
    needs: { plan: release.plan }
    ${ssh("apply_release")}
    plan: { id: { in: field, as: plan_id }, revision: { in: field, as: expected_revision } }
    confirm: release.status
  release.status:
    effect: read
    ${ssh("release_status")}
`;

type Observation = Awaited<ReturnType<SshTransport["send"]>>;

let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
/** What the host says to each of its operations. */
let says: Record<string, Observation>;
let sent: [string, JsonObject][];

const answered = (body: unknown, exit = 0): Observation => ({
  ...{ kind: "answered", status: exit, headers: {}, body: Buffer.from(JSON.stringify(body)) },
  ...{ remoteRequestId: null, elapsedMs: 1, withheld: null },
});

beforeEach(async () => {
  says = { plan_release: answered(previewBody()), apply_release: answered({ release: "r42" }) };
  says["release_status"] = answered({ release: "r42" });
  sent = [];
  bench = await startBench(PACK, {
    credentials: [["ops-key", { eachUse: false, disabled: false, origin: "" }]],
    ssh: {
      async send(_receipt, { action, fields }) {
        sent.push([action, fields as JsonObject]);
        return says[action] ?? assert.fail(action);
      },
    },
  });
  caller = scriptedCaller();
  run = await bench.openApproved(caller, ["ops.release.plan", "ops.release.apply"]);
});
afterEach(() => bench.close());

const plan = (): Promise<CallResult> =>
  bench.gateway.startPlan(caller, run.id, { action: "ops.release.apply", input: { release: "r42" } }).done;
async function execute(): Promise<CallResult> {
  const { plan: made } = await plan();
  return bench.gateway.startExecution(caller, made?.["plan_id"] as PlanId, "r7").done;
}

test("what a host's operation prints as it ends well is the preview, and its plan is carried out by name", async () => {
  assert.deepEqual((await execute()).confirmed, true);
  assert.deepEqual(sent, [
    ["plan_release", { release: "r42" }],
    ["apply_release", { plan_id: "pln-remote-1", expected_revision: "r7" }],
    ["release_status", {}],
  ]);
  says["plan_release"] = answered(previewBody({ mode: "executed" }));
  await assert.rejects(plan(), denies("preview_invalid"));
  says["plan_release"] = answered(previewBody(), 1);
  const failed = await plan();
  assert.deepEqual([failed.outcome, failed.plan], ["error", undefined]);
});

test("a host says in what it prints that a plan is stale, with whatever status it ends", async () => {
  says["apply_release"] = answered({ code: "plan_stale", changed: ["releases/web", 7] }, 9);
  await assert.rejects(execute(), (error) => {
    assert.ok(error instanceof Denied && error.code === "plan_stale", String(error));
    assert.deepEqual(error.extra["changed"], ["releases/web"]);
    return true;
  });
  says["apply_release"] = answered({ error: "plan_stale" }, 412);
  await assert.rejects(execute(), denies("plan_stale"));
  for (const other of [answered({ code: "version_conflict" }, 1), answered({}, 409), answered({}, 412)]) {
    says["apply_release"] = other;
    assert.equal((await execute()).outcome, "error");
  }
});
