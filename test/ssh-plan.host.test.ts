import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { beginSshFile } from "./ssh-file.ts";
import { allowKeyFile, makeKeyFile, makeSshHome, sshMember } from "./ssh-home.ts";
import { type Stand, startStand } from "./ssh-stand.ts";
import { type Gateway, type Home, type Members, openPlane, type Plane } from "./support/home.ts";
import { idIn, idOf } from "./support/reply.ts";

/** Plans on a host: an operation previews, another carries the plan out by its identifier and revision alone. */
const { missing, program, real, removeScripts, scripts } = beginSshFile(import.meta.filename);

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
  stand = await startStand({
    operations: {
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
      release_status: { executable: program("release-status", `printf '{"release":"%s"}' "$(cat ${at("release")})"`) },
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
  release.status:
    effect: read
    ssh: ${sshMember(stand, "release_status")}
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

async function openRun(): Promise<string> {
  const opened = await agent.ask("POST", "/v1/runs", { purpose: "release", actions: ["ops.*"] });
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
    const run = await openRun();
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
  const run = await openRun();
  const stale = await execute(await plan(run));
  assert.deepEqual([stale.status, stale.body["code"]], [409, "plan_stale"], stale.text);
  assert.deepEqual(stale.body["changed"], ["releases/web"]);
});

real("what an operation prints is a preview only where it says so", async () => {
  writeFileSync(at("preview.json"), JSON.stringify({ ...preview, mode: "done" }));
  const run = await openRun();
  const asked = { action: "ops.release.apply", input: { release: "r42" } };
  const refused = await agent.ask("POST", `/v1/runs/${run}/plans`, asked, wait);
  assert.equal(refused.body["code"], "preview_invalid", refused.text);
});
