import type { JsonObject, JsonValue } from "../../../../src/kernel/json.ts";
import { type Check, isRefusal, isSuccess, type Kit, memberOf, type Reply, textOf } from "../check.ts";

const ROUNDS = 20;

function partOf(kit: Kit) {
  const part = kit.profile.plan;
  kit.expect(part !== undefined, "the profile describes a plan");
  return part;
}

async function readRevision(kit: Kit): Promise<string> {
  const { revision } = partOf(kit);
  const reply = await kit.send({ method: "GET", target: revision.target });
  const found = textOf(reply.json, revision.member);
  kit.expect(found !== "", `${revision.target} tells its revision in ${revision.member}`);
  return found;
}

async function preview(kit: Kit, revision: string): Promise<Reply> {
  const { target, body } = partOf(kit);
  const filled = Object.entries(body).map(([name, value]): [string, JsonValue] => [
    name,
    value === "{revision}" ? revision : value,
  ]);
  return kit.json("POST", target, Object.fromEntries(filled));
}

async function planned(kit: Kit, revision: string): Promise<string> {
  const reply = await preview(kit, revision);
  const plan = textOf(reply.json, "plan_id");
  kit.expect(isSuccess(reply) && plan !== "", "the preview of the profile gives a plan");
  return plan;
}

function execute(kit: Kit, plan: string, revision: string, more: JsonObject = {}): Promise<Reply> {
  return kit.json("POST", partOf(kit).execute, { plan_id: plan, expected_revision: revision, ...more });
}

export const planChecks: readonly Check[] = [
  {
    name: "preview.mode",
    rule: "Preview and execution 2, 3: the mode is visible, and a preview is never a 201",
    needs: "plan",
    async run(kit: Kit) {
      const reply = await preview(kit, await readRevision(kit));
      kit.expect(
        reply.status === 200 || reply.status === 202,
        "a preview is answered with 200, or 202 while it is made",
      );
      kit.expect(memberOf(reply.json, "mode") === "preview", "`mode` is `preview`");
      kit.expect((reply.headers["cache-control"] ?? "").includes("no-store"), "Cache-Control is no-store");
    },
  },
  {
    name: "preview.fields",
    rule: "Plan request and preview response: all specified members are there",
    needs: "plan",
    async run(kit: Kit) {
      const { json } = await preview(kit, await readRevision(kit));
      for (const name of [
        "executable",
        "validation",
        "plan_id",
        "expires_at",
        "request_digest",
        "read_revisions",
        "effects",
      ]) {
        kit.expect(memberOf(json, name) !== undefined, `the preview has ${name}`);
      }
    },
  },
  {
    name: "preview.effects",
    rule: "Preview and execution 8: direct and derived effects are listed separately, and each names its cause",
    needs: "plan",
    async run(kit: Kit) {
      const { json } = await preview(kit, await readRevision(kit));
      const effects = memberOf(json, "effects");
      kit.expect(Array.isArray(effects) && effects.length > 0, "there are effects");
      for (const group of effects) {
        kit.expect(textOf(group, "relation") !== "", "each group says how it relates to the request");
        const sample = memberOf(group, "sample");
        kit.expect(
          Array.isArray(sample) && sample.every((effect) => textOf(effect, "cause") !== ""),
          "each effect names its cause",
        );
      }
    },
  },
  {
    name: "preview.pure",
    rule: "Preview and execution 4: a preview causes no durable effect",
    needs: "plan",
    async run(kit: Kit) {
      const look = async () => {
        const seen: string[] = [];
        for (const target of partOf(kit).reads) seen.push((await kit.send({ method: "GET", target })).text);
        return seen.join("\n");
      };
      // Others may be at work on the provider: only a difference that every round shows is the preview's.
      for (let round = 0; round < ROUNDS; round++) {
        const revision = await readRevision(kit);
        const before = await look();
        if ((await look()) !== before) continue;
        await planned(kit, revision);
        if ((await look()) === before) return;
      }
      kit.expect(false, "what can be read is the same before and after");
    },
  },
  {
    name: "preview.version_conflict",
    rule: "Errors: version_conflict at /if_match blocks execution",
    needs: "plan",
    async run(kit: Kit) {
      const { json } = await preview(kit, "conformance-no-revision");
      const validation = memberOf(json, "validation");
      const found = Array.isArray(validation)
        ? validation.find((entry) => textOf(entry, "code") === "version_conflict")
        : undefined;
      kit.expect(memberOf(found, "blocks_execution") === true, "validation holds a version_conflict that blocks");
      kit.expect(textOf(found, "path") === "/if_match", "its path is /if_match");
      kit.expect(memberOf(json, "executable") === false, "`executable` is false");
    },
  },
  {
    name: "execute.plan_alone",
    rule: "Preview and execution 6: execution takes no second copy of the request",
    needs: "plan",
    async run(kit: Kit) {
      const revision = await readRevision(kit);
      const reply = await execute(kit, await planned(kit, revision), revision, { conformance_copy: "x" });
      kit.expect(isRefusal(reply), "a further member is refused");
    },
  },
  {
    name: "execute.expected_revision",
    rule: "Plan lifecycle: the read revisions are verified",
    needs: "plan",
    async run(kit: Kit) {
      const reply = await execute(kit, await planned(kit, await readRevision(kit)), "conformance-no-revision");
      kit.expect(isRefusal(reply), "another expected revision is refused");
    },
  },
  {
    name: "execute.single_use",
    rule: "Plan lifecycle: a plan is executed once",
    needs: "plan",
    async run(kit: Kit) {
      const revision = await readRevision(kit);
      const plan = await planned(kit, revision);
      kit.expect(isSuccess(await execute(kit, plan, revision)), "the plan executes");
      kit.expect(isRefusal(await execute(kit, plan, revision)), "the second time it is refused");
    },
  },
  {
    name: "execute.plan_stale",
    rule: "Errors: plan_stale, when a plan cannot be shown equivalent",
    needs: "plan",
    async run(kit: Kit) {
      const revision = await readRevision(kit);
      const [first, second] = [await planned(kit, revision), await planned(kit, revision)];
      kit.expect(isSuccess(await execute(kit, first, revision)), "the first plan executes");
      const stale = await execute(kit, second, revision);
      kit.expect(isRefusal(stale), "the second, made on the same revision, is refused");
      const code = textOf(stale.json, "code") || textOf(stale.json, "error");
      kit.expect(code === "plan_stale", "its code is plan_stale");
    },
  },
];
