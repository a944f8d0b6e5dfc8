import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grant } from "../../conventions/grant/grant.ts";
import { digestGrant } from "../../conventions/grant/record.ts";
import {
  authorizedByCard,
  authorizedByGrant,
  authorizedByOperator,
  authorizedBySession,
  describeAuthorization,
  grantOf,
} from "./authorize.ts";

const AT = "2030-01-01T00:00:00.000Z";
const statement = { approval_id: "apr_1", operator: "ada", decided_at: AT, narrow: null };
const byCard = (narrow: object | null) => authorizedByCard({ statement: { ...statement, narrow } } as never);
const triage: Grant = {
  ...{ name: "triage", actions: ["acme.a"], effects: ["read"], conditions: [], includes: [] },
  caller: { authority: null, image: null, command: null, uid: 1040 },
  limits: { attempts: 1, sideEffects: 0, durationMs: 60_000, spendCents: 0 },
  ...{ callsPerDay: 1, createdAt: AT, until: AT, hours: null, idleDays: null },
};
const bySession = (grant: object | null, approvedBy: string) =>
  authorizedBySession({ grant, approvalId: "apr_2", approvedBy, approvedAt: AT } as never);

test("what a call rests on is said by kind and by the approval, the grant or the person behind it", () => {
  const [own, granted] = [bySession(null, "ada"), bySession({ name: "triage" }, "grant triage")];
  const grant = authorizedByGrant(triage);
  assert.deepEqual(grant.grant, { name: "triage", digest: digestGrant(triage) });
  const asked = [byCard(null), own, granted, grant, authorizedByOperator("bob", AT)];
  assert.deepEqual(asked.map(describeAuthorization), [
    ...["each_use:apr_1", "session:apr_2", "grant:triage", "grant:triage", "operator:bob"],
  ]);
  assert.deepEqual(asked.map(grantOf), [null, null, "triage", "triage", null]);
  assert.deepEqual(
    asked.map(({ authorizedBy }) => authorizedBy),
    ["ada", "ada", "grant triage", "grant triage", "bob"],
  );
  assert.deepEqual(new Set(asked.map(({ decidedAt }) => decidedAt)), new Set([AT]));
});

test("the inputs that a person put bounds on are known, and none where nobody did", () => {
  const where = [{ action: "acme.a", input: "name", kind: "is", values: ["x"] }];
  assert.deepEqual(byCard({ where }).bounded, ["name"]);
  for (const narrow of [null, { where: [] }, {}]) assert.equal("bounded" in byCard(narrow), false);
});
