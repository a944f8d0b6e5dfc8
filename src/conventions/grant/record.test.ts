import assert from "node:assert/strict";
import { test } from "node:test";
import type { Grant } from "./grant.ts";
import { boundsWords, callerWords, digestGrant, grantRecord } from "./record.ts";

const IMAGE = `sha256:${"ab".repeat(32)}`;

const grant: Grant = {
  name: "triage",
  caller: { authority: "Acme", image: IMAGE, command: null, uid: null },
  actions: ["github.issue.*"],
  effects: ["read"],
  conditions: [
    { kind: "one_of", input: "owner", values: ["acme"] },
    { kind: "prefix", input: "path", prefix: "docs/" },
    { kind: "at_most", input: "count", maximum: 10 },
  ],
  includes: [{ kind: "each_use", credential: "github" }, { kind: "plans" }],
  limits: { attempts: 10, sideEffects: 1, durationMs: 119_999, spendCents: 0 },
  callsPerDay: 5,
  createdAt: "2026-11-01T00:00:00.000Z",
  until: "2027-01-01T00:00:00.000Z",
  hours: null,
  idleDays: null,
};

test("a grant is recorded whole, and what nobody uses is absent, so that what was signed before keeps its digest", () => {
  assert.deepEqual(grantRecord(grant), {
    name: "triage",
    caller: { authority: "Acme", image: IMAGE, uid: null },
    actions: ["github.issue.*"],
    effects: ["read"],
    conditions: [
      { kind: "one_of", input: "owner", values: ["acme"] },
      { kind: "prefix", input: "path", prefix: "docs/" },
      { kind: "at_most", input: "count", maximum: 10 },
    ],
    includes: ["each_use:github", "plans"],
    limits: { attempts: 10, side_effects: 1, duration_seconds: 119, spend_cents: 0 },
    calls_per_day: 5,
    created_at: "2026-11-01T00:00:00.000Z",
    until: "2027-01-01T00:00:00.000Z",
    hours: null,
  });
  const full = {
    ...grant,
    caller: { authority: null, image: null, command: IMAGE, uid: 7 },
    hours: { days: [1], fromHour: 8, toHour: 18 },
    idleDays: 3,
  };
  const record = grantRecord(full);
  assert.deepEqual(record["caller"], { authority: null, image: null, command: IMAGE, uid: 7 });
  assert.deepEqual(record["hours"], { days: [1], from_hour: 8, to_hour: 18 });
  assert.equal(record["idle_days"], 3);
  assert.notEqual(digestGrant(full), digestGrant({ ...full, idleDays: 4 }));
});

test("whom a grant lets act, and how much, stands in a line each", () => {
  assert.equal(callerWords(grant), `images that Acme vouches for, the image ${IMAGE}`);
  const wrapped = { ...grant, caller: { authority: null, image: null, command: IMAGE, uid: 0 } };
  assert.equal(callerWords(wrapped), `the command ${IMAGE} below gw run, user 0`);
  assert.equal(
    boundsWords(grant),
    "5 calls a day; a run has 10 attempts, 1 side effect, 1 minute and 0 cents; until 2027-01-01T00:00:00.000Z; 30 days without a use end it",
  );
  const once = { ...grant, callsPerDay: 1, idleDays: 1, hours: { days: [1, 2], fromHour: 8, toHour: 18 } };
  assert.equal(
    boundsWords({ ...once, limits: { ...grant.limits, durationMs: 60_000 } }),
    "1 call a day; a run has 10 attempts, 1 side effect, 1 minute and 0 cents; until 2027-01-01T00:00:00.000Z, mon,tue 08-18 UTC; 1 day without a use ends it",
  );
});
