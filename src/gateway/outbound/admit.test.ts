import assert from "node:assert/strict";
import { test } from "node:test";
import { openBudget } from "../../conventions/budget/budget.ts";
import { Denied } from "../../kernel/failure.ts";
import type { LiveCaller } from "../ports.ts";
import type { Run, Session } from "../run/run.ts";
import {
  askOf,
  askToday,
  requireCredential,
  requireFit,
  requireHere,
  requireLiveCaller,
  requireStanding,
  reservedFor,
} from "./admit.ts";
import { type Outbound, reasonsToAsk } from "./outbound.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

function callerOf(kind: "same" | "gone" | "replaced" | "traced", key = "own"): LiveCaller {
  return { key, check: () => ({ kind, what: "its image", tracer: 7 }) } as unknown as LiveCaller;
}

test("only the very process that connected, and nobody who speaks in its place, acts", () => {
  requireLiveCaller(callerOf("same"));
  for (const kind of ["gone", "replaced", "traced"] as const)
    assert.throws(() => requireLiveCaller(callerOf(kind)), denies(`caller_${kind}`));
});

const credentials = new Map<string, object>([
  ["acme", { eachUse: false, disabled: false }],
  ["asked", { eachUse: true, disabled: false }],
  ["off", { eachUse: false, disabled: true }],
  ["away", { eachUse: false, disabled: false, elsewhere: ["host-2"] }],
]);
const core = {
  credentials: () => ({ find: (label: string) => credentials.get(label) ?? null }),
  grants: () => [],
  ports: { clock: {} },
} as never;
const using = (credential: string | null, of = core) => requireCredential(of, { credential } as Outbound).eachUse;

test("a credential is there, enabled, lent here, and says whether it asks on every use", () => {
  assert.deepEqual([using("acme"), using("asked"), using(null)], [false, true, false]);
  assert.throws(() => using("none"), denies("credential_missing"));
  assert.throws(() => using("off"), denies("credential_disabled"));
  assert.throws(() => using("away"), denies("credential_elsewhere"));
  requireHere({ eachUse: false, disabled: false } as never, "acme");
  const admit = (): never => {
    throw new Denied("credential_shared", "nobody has begun to share it");
  };
  const shared = { ...(core as object), ports: { turns: { admit } } } as never;
  assert.throws(() => using("acme", shared), denies("credential_shared"));
  assert.equal(using(null, shared), false);
});

test("a locked gateway lends nothing, also to a call that needs no credential", () => {
  for (const credential of ["acme", null])
    assert.throws(() => using(credential, { credentials: () => null } as never), denies("gateway_locked"));
});

const session = {
  id: "ses_1",
  runId: "run_1",
  state: "approved",
  endReason: null,
  grant: null,
  caller: callerOf("same"),
};
const run = { id: "run_1", state: "open", endReason: null, kin: null, ownerKey: "own", sessions: new Map() };
const stands = (sessions: object = {}, runs: object = {}, of = core) =>
  requireStanding(of, { ...run, ...runs } as unknown as Run, { ...session, ...sessions } as unknown as Session);

test("a session stands while it is approved, its caller lives and its run goes on", () => {
  stands();
  assert.throws(() => stands({ state: "ended", endReason: "revoked" }), denies("session_ended"));
  assert.throws(() => stands({ caller: callerOf("gone") }), denies("caller_gone"));
  assert.throws(() => stands({ caller: callerOf("traced") }), denies("caller_traced"));
  assert.throws(() => stands({}, { state: "ended" }), denies("run_ended"));
  assert.throws(() => stands({}, {}, { credentials: () => null } as never), denies("gateway_locked"));
  assert.throws(() => stands({ grant: { name: "nightly", digest: "sha256:1" } }), denies("grant_ended"));
});

test("what a wrapper started acts while the wrapper lives, and not a moment longer", () => {
  const wrapped = (kind: "same" | "gone" | "replaced", kin: object | null = {}) => {
    const sessions = new Map([["wrapper", { ...session, caller: callerOf(kind, "wrapper") }]]);
    return () => stands({ caller: callerOf("same", "child") }, { kin, ownerKey: "wrapper", sessions });
  };
  wrapped("same")();
  assert.throws(wrapped("gone"), denies("session_ended"));
  assert.throws(wrapped("replaced"), denies("session_ended"));
  wrapped("gone", null)();
});

const action = { needs: { approval: "session" }, effect: "write", asksEachCall: false, maxCostCents: 0 } as never;
const asks = (change: object, eachUse = false, standing = true) =>
  reasonsToAsk({ ...(action as object), ...change } as never, eachUse, standing).map(({ kind }) => kind);

test("a call is asked about for each reason that there is, and for none where there is none", () => {
  assert.deepEqual(asks({}), []);
  assert.deepEqual(asks({}, true), ["each_use_credential"]);
  assert.deepEqual(asks({ needs: { approval: "each_use" } }), ["each_use_action"]);
  assert.deepEqual(asks({ previewless: true }), ["previewless"]);
  assert.deepEqual(asks({ effect: "purchase", asksEachCall: true, maxCostCents: 5 }, false, false), ["purchase"]);
  assert.deepEqual(asks({ asksEachCall: true, maxCostCents: null }, false, false), ["uncapped_cost"]);
  assert.deepEqual(asks({ maxCostCents: 1 }, false, false), ["unapproved_spend"]);
  assert.deepEqual(asks({ maxCostCents: 1 }, false, true), []);
  assert.deepEqual(asks({ maxCostCents: null }, false, false), []);
});

test("a call reserves the most it can cost and the time it may take, a creation its own", () => {
  const ask = (change: object) =>
    askOf({
      sideEffect: true,
      definition: { action: { limits: {}, job: null, maxCostCents: null, ...change } },
    } as never);
  assert.equal(ask({}).maximumCents, 0);
  const reserved = (maxCostCents: number | null) => reservedFor({ definition: { action: { maxCostCents } } } as never);
  assert.deepEqual([reserved(null).maximum_cents, reserved(7).maximum_cents], [0, 7]);
  assert.equal(ask({ maxCostCents: 7 }).maximumCents, 7);
  assert.equal(ask({ limits: { timeoutMs: 900 } }).capMs, 900);
  assert.equal(ask({ limits: { timeoutMs: 900 }, job: { createDeadlineMs: 300 } }).capMs, 300);
  assert.equal(ask({ limits: { timeoutMs: 900 }, job: { createDeadlineMs: 1_300 } }).capMs, 900);
});

test("what does not fit the run or the day is refused before anybody is asked, and the run remembers the first reason", () => {
  const moment = { wallMs: 1_790_000_000_000, bootMs: 1_000, bootId: "boot" };
  const limits = { attempts: 5, sideEffects: 5, durationMs: 600_000, spendCents: 50 };
  const run = { budget: openBudget("run_1" as Run["id"], limits, moment) } as Run;
  const today = (spentToday: number) =>
    ({
      posture: () => ({ mode: "guard-rail", ceilings: { ...limits, daySpendCents: 100 } }),
      daySpend: { today: () => "2026-09-21", spentCents: () => spentToday },
      ports: { clock: { wallMs: () => moment.wallMs, bootMs: () => moment.bootMs, bootId: () => moment.bootId } },
    }) as never;
  const costs = (maxCostCents: number) =>
    ({ sideEffect: true, definition: { action: { limits: {}, job: null, maxCostCents } } }) as never;
  assert.equal(askToday(today(70), costs(40), 20).dayLeftCents, 50, "with what an earlier send of it gives back");
  const fits = (cents: number, spentToday: number) => () => requireFit(today(spentToday), run, costs(cents));
  fits(40, 60)();
  assert.equal(run.budget.stopReason, null);
  assert.throws(fits(40, 61), denies("day_spend_exhausted"));
  assert.throws(fits(1, Number.MAX_SAFE_INTEGER), denies("day_spend_exhausted"));
  fits(0, Number.MAX_SAFE_INTEGER)();
  assert.throws(fits(51, 0), denies("spend_exhausted"));
  assert.equal(run.budget.stopReason, "day_spend_exhausted");
});
