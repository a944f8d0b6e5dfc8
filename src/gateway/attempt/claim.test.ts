import assert from "node:assert/strict";
import { test } from "node:test";
import type { OperationState } from "../../conventions/operation/state.ts";
import type { ClaimKey, Holder } from "../../conventions/outcome/claim.ts";
import type { Verdict } from "../../conventions/outcome/classify.ts";
import { Denied } from "../../kernel/failure.ts";
import type { StateRow } from "../ports.ts";
import {
  claimRow,
  closeUnseen,
  holdersOf,
  keyOfRow,
  linkClaim,
  openClaim,
  readHolders,
  settleClaim,
  takeClaim,
  unsettled,
  withdrawClaim,
} from "./claim.ts";
import { decideRepeatOf } from "./repeat-of.ts";
import type { Claim, Sending } from "./sending.ts";

const KEY = "sha256:key" as ClaimKey;
const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;

/** A state that holds rows, and what was recorded. */
function stand() {
  const rows = new Map<string, StateRow | { readonly tampered: string }>();
  const recorded: (readonly StateRow[])[] = [];
  const put = (all: readonly StateRow[]): void => {
    for (const row of all)
      if (row.over === true) rows.delete(`${row.table} ${row.id}`);
      else rows.set(`${row.table} ${row.id}`, row);
  };
  const ledger = {
    stopped: false,
    find: (table: string, id: string) => rows.get(`${table} ${id}`) ?? null,
    record: async (_step: string, _events: unknown, kept: readonly StateRow[]) => {
      recorded.push(kept);
      put(kept);
    },
  };
  const operation = (id: string, state: OperationState): void =>
    put([{ table: "operations", id, runId: "", state, body: {} }]);
  return { core: { ledger, ports: { clock: { wallMs: () => 0 } } } as never, ledger, rows, put, operation, recorded };
}

function holder(name: string, change: Partial<Holder> = {}): Holder {
  return {
    ...{ call_id: `call_${name}`, run_id: "run_1", action: "acme.a", started_by: "agent", under_way: false },
    ...{ at: "2030-01-01T00:00:00.000Z", operation_id: `op_${name}`, attempt_id: `att_${name}`, evidence: {} },
    ...change,
  };
}

function sendingOf(callId: string, change: object = {}, job: object | null = null): Sending {
  const definition = { pack: { digest: "sha256:pack", provider: null }, action: { job, effect: "write" } };
  return {
    ...{ callId, errand: "call", run: { id: "run_1" }, authorization: { kind: "session" } },
    session: {
      id: "ses_1",
      caller: { key: "k", evidence: { pathObserved: "/bin/agent", process: { pid: 7, uid: 1 } } },
    },
    outbound: { action: "acme.a", channel: "http", sideEffect: true, method: "POST", input: {}, definition },
    request: { kind: "http", method: "POST", url: "https://api.acme.example/a", headers: {}, body: null },
    ...change,
  } as unknown as Sending;
}

const take = (core: never, claim: Claim, sending: Sending) =>
  takeClaim(core, claim, sending, "att_9", { maximumCents: 0 } as never);

test("whoever holds a claim holds it until the operation that answers for it is settled", () => {
  const { core, put, operation, rows } = stand();
  assert.deepEqual(holdersOf(core, KEY), []);
  const [sent, open, over] = [holder("sent", { under_way: true }), holder("open"), holder("over")];
  put([claimRow(KEY, [sent, open, over, holder("gone")])]);
  operation("op_open", "create_unknown");
  operation("op_over", "succeeded");
  assert.deepEqual(holdersOf(core, KEY), [sent, open]);
  rows.set("operations op_over", { tampered: "op_over" });
  assert.deepEqual(holdersOf(core, KEY), [sent, open, over], "what cannot be read is not over");
  rows.set(`notes claim ${KEY}`, { tampered: KEY });
  assert.throws(() => holdersOf(core, KEY), denies("state_tampered"));
});

test("the second of two like calls is answered with the first, and sends nothing", () => {
  const { core, put, operation } = stand();
  operation("op_1", "reconciliation");
  put([claimRow(KEY, [holder("1")])]);
  assert.throws(
    () => take(core, openClaim(KEY), sendingOf("call_2")),
    (error) => {
      assert.ok(denies("outcome_unsettled")(error) && error instanceof Denied);
      const { open, operation_id } = error.extra as { open: { state: string }; operation_id: string };
      assert.deepEqual([open.state, operation_id], ["reconciliation", "op_1"]);
      return true;
    },
  );
  const past = openClaim(KEY, new Set(["op_1"]));
  const row = take(core, past, sendingOf("call_2"));
  assert.deepEqual(
    readHolders(row).map(({ call_id }) => call_id),
    ["call_1", "call_2"],
    "both hold it now",
  );
  put([claimRow(KEY, [holder("1", { under_way: true })])]);
  assert.throws(
    () => take(core, past, sendingOf("call_2")),
    denies("outcome_unsettled"),
    "nobody goes past what is being sent",
  );
});

test("a person who agreed to go past an operation did not agree to a second one of what has succeeded", () => {
  for (const [state, refused] of [
    ["succeeded", true],
    ["failed", false],
    ["create_unknown", false],
  ] as const) {
    const { core, operation } = stand();
    operation("op_1", state);
    const work = () => take(core, openClaim(KEY, new Set(["op_1", "call_7"])), sendingOf("call_2"));
    if (refused) assert.throws(work, denies("operation_settled"));
    else work();
  }
});

test("a retry and a token's repeat are the call that holds the claim already", () => {
  const { core, put } = stand();
  put([claimRow(KEY, [holder("1", { under_way: true, operation_id: null })])]);
  take(core, openClaim(KEY), sendingOf("call_1"));
  put([claimRow(KEY, [holder("1", { under_way: true })])]);
  take(core, openClaim(KEY), sendingOf("call_1", { operationId: "op_1" }));
  assert.throws(() => take(core, openClaim(KEY), sendingOf("call_1")), denies("outcome_unsettled"));
  assert.throws(
    () => take(core, openClaim(KEY), sendingOf("call_1", { operationId: "op_2" })),
    denies("outcome_unsettled"),
  );
});

test("what is taken names the attempt, and its row is written only while nobody else came between", () => {
  const { core, operation } = stand();
  const claim = openClaim(KEY);
  const row = take(core, claim, sendingOf("call_2"));
  const { evidence, ...held } = claim.holder ?? holder("none");
  assert.deepEqual(held, {
    ...{ call_id: "call_2", run_id: "run_1", action: "acme.a", started_by: "/bin/agent pid 7 uid 1", under_way: true },
    ...{ at: "1970-01-01T00:00:00.000Z", operation_id: null, attempt_id: "att_9" },
  });
  assert.equal(evidence["side_effect"], true);
  assert.equal(keyOfRow(row), KEY);
  const fits = (...stored: readonly Holder[]) => row.onlyIf?.(claimRow(KEY, stored));
  assert.equal(row.onlyIf?.(null), true);
  operation("op_open", "create_unknown");
  operation("op_over", "failed");
  assert.equal(fits(holder("over"), holder("2", { under_way: true, operation_id: null })), true);
  assert.equal(fits(holder("open")), false);
  assert.equal(fits(holder("over"), holder("3", { under_way: true })), false);
});

const observation = { kind: "answered" } as never;
const verdicts = {
  success: { kind: "success", observation },
  accepted: { kind: "accepted", observation },
  error: { kind: "error", reason: "status_400", observation },
  unknown: { kind: "unknown", reason: "timeout", observation },
  redirect: { kind: "redirect", location: "/x", observation },
} as const satisfies Record<string, Verdict>;

test("a receipt ends every doubt, a refusal its own, and nothing else ends any", () => {
  const table: readonly (readonly [keyof typeof verdicts, boolean, boolean])[] = [
    ["success", false, false],
    ["success", true, false],
    ["error", false, false],
    ["error", true, true],
    ["accepted", false, true],
    ["redirect", false, true],
    ["unknown", false, true],
  ];
  for (const [kind, before, doubt] of table) {
    const { core, put } = stand();
    const claim = openClaim(KEY);
    put([take(core, claim, sendingOf("call_1"))]);
    const rows = settleClaim(core, claim, sendingOf("call_1"), verdicts[kind], before);
    assert.equal(claim.doubt, doubt, `${kind} after ${before}`);
    assert.deepEqual([claim.holder === null, rows.length], doubt ? [false, 0] : [true, 1], `${kind} after ${before}`);
    assert.deepEqual(claim.unseen, kind === "unknown" ? ["att_9"] : []);
  }
});

test("the answer of a GET that a redirect led to is no receipt of the write", () => {
  const { core, put } = stand();
  const claim = openClaim(KEY);
  put([take(core, claim, sendingOf("call_1"))]);
  const got = sendingOf("call_1", {
    request: { kind: "http", method: "GET", url: "https://a.example/", headers: {}, body: null },
  });
  settleClaim(core, claim, got, verdicts.success, true);
  assert.equal(claim.doubt, true);
});

test("work that a provider took on holds its claim until it ends, under the operation that looks after it", () => {
  const { core, put } = stand();
  const claim = openClaim(KEY);
  const sending = sendingOf("call_1", { operationId: "op_1" }, {});
  put([take(core, claim, sending)]);
  const [row, ...more] = settleClaim(core, claim, sending, verdicts.accepted, false);
  assert.deepEqual([claim.doubt, more.length], [false, 0]);
  assert.deepEqual(
    readHolders(row as StateRow).map(({ under_way, operation_id }) => [under_way, operation_id]),
    [[false, "op_1"]],
  );
  settleClaim(core, claim, sending, verdicts.error, false);
  assert.equal(claim.holder, null, "a creation that was refused is none");
});

test("what ends a call answers for its attempts that had no answer, and others keep their claims", () => {
  const { core, put, operation } = stand();
  operation("op_other", "create_unknown");
  put([claimRow(KEY, [holder("other")])]);
  const claim = openClaim(KEY, new Set(["op_other"]));
  put([take(core, claim, sendingOf("call_1"))]);
  settleClaim(core, claim, sendingOf("call_1"), verdicts.unknown, false);
  const rows = settleClaim(core, claim, sendingOf("call_1"), verdicts.success, true);
  assert.deepEqual(
    readHolders(rows[0] as StateRow).map(({ call_id }) => call_id),
    ["call_other"],
  );
  assert.deepEqual(
    rows.slice(1).map(({ table, id, over }) => [table, id, over]),
    [["attempts", "att_9", true]],
  );
  assert.deepEqual([claim.unseen, closeUnseen(claim, "run_1")], [[], []]);
  assert.deepEqual([linkClaim(core, openClaim(KEY), "op_1"), claimRow(KEY, []).over], [[], true]);
});

test("a claim whose intent was not written is let go where the store took it, and answered by who was faster", async () => {
  const { core, put, operation, recorded, ledger } = stand();
  const claim = openClaim(KEY);
  const sending = sendingOf("call_1");
  const failed = new Denied("outcome_unsettled", "the log did not take it");
  put([take(core, claim, sending)]);
  await withdrawClaim(core, claim, null, sending, failed);
  assert.deepEqual([holdersOf(core, KEY), claim.holder, recorded.length], [[], null, 1]);
  take(core, claim, sending);
  await withdrawClaim(core, claim, null, sending, failed);
  assert.equal(recorded.length, 1, "what the store did not take is not let go");
  put([take(core, claim, sending)]);
  await withdrawClaim(core, claim, null, sending, new Error("broken"));
  ledger.stopped = true;
  take(core, claim, sending);
  await withdrawClaim(core, claim, null, sending, failed);
  assert.equal(recorded.length, 1, "where nothing can be written nothing is said to be");
  ledger.stopped = false;
  operation("op_2", "create_unknown");
  put([claimRow(KEY, [])]);
  take(core, claim, sending);
  put([claimRow(KEY, [holder("2")])]);
  const faster = new Denied("operation_taken_over", "");
  await assert.rejects(withdrawClaim(core, claim, null, sending, faster), denies("outcome_unsettled"));
  const past = openClaim(KEY, new Set(["op_2"]));
  take(core, past, sending);
  await withdrawClaim(core, past, null, sending, faster);
});

test("to go past what is open an agent names it, and a person sees all of it", () => {
  const { core, put, operation } = stand();
  assert.equal(decideRepeatOf(core, KEY, undefined), null);
  assert.throws(() => decideRepeatOf(core, KEY, "op_1"), denies("operation_settled"));
  for (const name of ["op_1", "op_2"]) operation(name, "create_unknown");
  put([claimRow(KEY, [holder("1"), holder("2")])]);
  for (const named of [undefined, "op_3"])
    assert.throws(() => decideRepeatOf(core, KEY, named), denies("outcome_unsettled"));
  const asked = decideRepeatOf(core, KEY, "op_1");
  assert.deepEqual(
    [[...(asked?.despite ?? [])], asked?.notes.length, asked?.sameAs],
    [["op_1", "op_2"], 2, "op_1 op_2"],
  );
  put([claimRow(KEY, [holder("1"), holder("2", { under_way: true })])]);
  assert.throws(() => decideRepeatOf(core, KEY, "op_1"), denies("outcome_unsettled"));
  const crowd = (count: number) => Array.from({ length: count }, (_, at) => holder(`c${at}`));
  for (const { operation_id } of crowd(8)) operation(String(operation_id), "create_unknown");
  put([claimRow(KEY, crowd(7))]);
  assert.equal(decideRepeatOf(core, KEY, "op_c0")?.despite.size, 7);
  put([claimRow(KEY, crowd(8))]);
  assert.throws(() => decideRepeatOf(core, KEY, "op_c0"), denies("outcome_unsettled"), "past so many nobody decides");
});

test("whoever is answered with an open call learns what to do about it", () => {
  const { core } = stand();
  assert.match(unsettled(core, holder("1", { under_way: true })).message, /on its way right now: wait/);
  const lost = unsettled(core, holder("1", { operation_id: null }));
  assert.match(lost.message, /gw operation settle call_1/);
  assert.deepEqual(Object.keys(lost.extra ?? {}), ["open"]);
});
