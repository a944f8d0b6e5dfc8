import type { JsonObject } from "../../../../src/kernel/json.ts";
import { type Check, isRefusal, isSuccess, type Kit, memberOf, type Reply, textOf } from "../check.ts";

const MANY = 20;

function partOf(kit: Kit) {
  const part = kit.profile.job;
  kit.expect(part !== undefined, "the profile describes a job");
  return part;
}

function create(kit: Kit, key: string | null, body: JsonObject = partOf(kit).body): Promise<Reply> {
  return kit.json("POST", partOf(kit).target, body, key === null ? {} : { "idempotency-key": key });
}

async function started(kit: Kit, key: string): Promise<Reply> {
  const reply = await create(kit, key);
  kit.expect(reply.status === 202, "the job of the profile is accepted with 202");
  return reply;
}

export const jobChecks: readonly Check[] = [
  {
    name: "token.replay",
    rule: "Errors: the same payload under a token returns the original result",
    needs: "job",
    async run(kit: Kit) {
      const key = kit.key();
      const first = await started(kit, key);
      const again = await create(kit, key);
      kit.expect(again.status === first.status && again.text === first.text, "the repeat is answered like the first");
    },
  },
  {
    name: "token.other_payload",
    rule: "Errors: another payload under an old token is rejected",
    needs: "job",
    async run(kit: Kit) {
      const key = kit.key();
      await started(kit, key);
      kit.expect(isRefusal(await create(kit, key, partOf(kit).other)), "the other payload is refused");
    },
  },
  {
    name: "token.missing",
    rule: "Limits 8: an idempotent write needs its token",
    needs: "job",
    async run(kit: Kit) {
      kit.expect(isRefusal(await create(kit, null)), "without a token nothing is started");
    },
  },
  {
    name: "token.concurrent",
    rule: "Errors: a token starts no second execution",
    needs: "job",
    async run(kit: Kit) {
      const key = `many-${kit.key()}`;
      const replies = await Promise.all(Array.from({ length: MANY }, () => create(kit, key)));
      const jobs = new Set(replies.filter(isSuccess).map(({ json }) => textOf(json, "job_id")));
      kit.expect(jobs.size === 1, `${MANY} requests at once under one token start one job`);
    },
  },
  {
    name: "job.creation",
    rule: "Job responses: 202, Location, and job_id, state, status_url",
    needs: "job",
    async run(kit: Kit) {
      const reply = await started(kit, kit.key());
      kit.expect(reply.headers["location"] !== undefined, "Location is there");
      for (const name of ["job_id", "state", "status_url"])
        kit.expect(textOf(reply.json, name) !== "", `the body has ${name}`);
    },
  },
  {
    name: "job.status",
    rule: "Job responses: job_id, state, updated_at, progress",
    needs: "job",
    async run(kit: Kit) {
      const { json } = await started(kit, kit.key());
      const status = await kit.send({ method: "GET", target: textOf(json, "status_url") });
      kit.expect(isSuccess(status), "status_url is answered");
      kit.expect(textOf(status.json, "job_id") === textOf(json, "job_id"), "the status is of the same job");
      kit.expect(
        textOf(status.json, "state") !== "" && textOf(status.json, "updated_at") !== "",
        "it has state and updated_at",
      );
      const total = memberOf(status.json, "progress", "total");
      kit.expect(typeof total === "number", "it has progress with completed and total");
    },
  },
  {
    name: "job.cancel",
    rule: "Reference actions: a cancellation is a request, and its confirmation is read from the status",
    needs: "job",
    async run(kit: Kit) {
      const { json } = await started(kit, kit.key());
      const target = partOf(kit).cancel.replace("{job_id}", encodeURIComponent(textOf(json, "job_id")));
      const reply = await kit.send({ method: "DELETE", target });
      kit.expect(isSuccess(reply), "the request to cancel is taken");
      kit.expect(textOf(reply.json, "state") !== "cancelled", "it does not claim to be cancelled");
      const status = await kit.send({ method: "GET", target: textOf(json, "status_url") });
      kit.expect(isSuccess(status), "the status is still answered");
    },
  },
  {
    name: "job.unknown",
    rule: "Errors: an unknown job is told apart from a known one",
    needs: "job",
    async run(kit: Kit) {
      kit.expect(
        isRefusal(await kit.send({ method: "GET", target: partOf(kit).unknown })),
        "a job that never was is refused",
      );
    },
  },
];
