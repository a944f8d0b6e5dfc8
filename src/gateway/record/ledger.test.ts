import assert from "node:assert/strict";
import { test } from "node:test";
import type { NewEvent } from "../../audit/event.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AuditSink, IntentReceipt, StateRow, StateStore } from "../ports.ts";
import type { RecordStep } from "../steps.ts";
import { createLedger, type HouseEvent } from "./ledger.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
const event = (event_type = "run_ended"): NewEvent => ({ event_type }) as NewEvent;
const row = (table: StateRow["table"], id: string, body = {}): StateRow => ({
  ...{ table, id, runId: "run_1", state: "open", body },
});
const FULL = new Denied("log_backlogged", "full");
const GONE = new Error("the disk is gone");

/** What was done in which order, with a log and a store that can refuse, or wait until a test lets them go on. */
function stand({ open = true } = {}) {
  const done: string[] = [];
  const kept: StateRow[] = [];
  const refuses = { log: null as Error | null, store: null as Error | null };
  let waits: Promise<void> | null = null;
  let sleepers: (() => void)[] = [];
  const stops: unknown[] = [];
  const audit: Pick<AuditSink, "append" | "hasRoom"> = {
    hasRoom: () => refuses.log !== FULL,
    async append(events) {
      await waits;
      if (refuses.log !== null) throw refuses.log;
      done.push(`log ${events.map(({ event_type }) => event_type).join(" ")}`);
      return "receipt" as never as IntentReceipt;
    },
  };
  const store = {
    async commit(rows: readonly StateRow[], durability: string) {
      if (refuses.store !== null) throw refuses.store;
      kept.push(...rows);
      done.push(`store ${rows.map(({ id }) => id).join(" ")} ${durability}`);
    },
    async change(_table: string, id: string, change: (row: StateRow) => StateRow | null) {
      if (refuses.store !== null) throw refuses.store;
      if (id === "none") return null;
      if (id === "edited") return { tampered: id };
      const stored = row("operations", id);
      return change(stored) ?? stored;
    },
    find: (table: StateRow["table"], id: string) => row(table, id),
    load: (table: StateRow["table"], state: string) => [row(table, state)],
  } as never as StateStore;
  const ledger = createLedger({
    audit: audit as AuditSink,
    sleep: { sleep: () => new Promise((resolve) => sleepers.push(resolve)) },
    worker: "me",
    steps: { before: (step) => done.push(`before ${step}`), after: (step) => done.push(`after ${step}`) },
    onStop: (cause) => stops.push(cause),
  });
  if (open) ledger.openStore(store);
  return {
    ...{ ledger, done, kept, refuses, stops, store },
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      waits = promise;
      return () => {
        waits = null;
        resolve();
      };
    },
    look(): void {
      const woken = sleepers;
      sleepers = [];
      for (const wake of woken) wake();
    },
    waiting: () => sleepers.length,
  };
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test("an intent is in the store and then in the log before anybody may send, of a side effect also against a power cut", async () => {
  for (const [sideEffect, durability] of [
    [true, "power"],
    [false, "process"],
  ] as const) {
    const { ledger, done } = stand();
    const receipt = await ledger.intent("call.intent", [event()], [row("attempts", "a")], sideEffect);
    assert.equal(receipt, "receipt");
    assert.deepEqual(done, ["before call.intent", `store a ${durability}`, "log run_ended", "after call.intent"]);
  }
  const { ledger, done } = stand();
  await ledger.intent("call.intent", [event()], [], true);
  assert.deepEqual(done, ["before call.intent", "log run_ended", "after call.intent"], "a plain read has no row");
});

test("what opens something is in the store before it is in the log, and what closes it in the log before the store", async () => {
  const order = async (step: RecordStep, rows: StateRow[] | (() => StateRow[])) => {
    const { ledger, done } = stand();
    await ledger.record(step, [event()], rows);
    return done.slice(1, -1);
  };
  for (const rows of [[row("runs", "r")], () => [row("runs", "r")]]) {
    assert.deepEqual(await order("run.started", rows), ["store r process", "log run_ended"]);
    assert.deepEqual(await order("run.ended", rows), ["log run_ended", "store r process"]);
  }
});

test("rows that a function gives are taken once the log has what they close", async () => {
  const { ledger, kept, hold } = stand();
  const release = hold();
  let state = "open";
  const told = ledger.record("run.ended", [event()], () => [{ ...row("runs", "r"), state }]);
  await turns();
  state = "ended";
  release();
  await told;
  assert.deepEqual(
    kept.map((one) => one.state),
    ["ended"],
  );
});

test("only what there is, is written: no events, no rows, no store", async () => {
  const { ledger, done } = stand();
  await ledger.record("run.ended", []);
  await ledger.record("run.started", [], [row("runs", "r")]);
  await ledger.record("run.ended", [], () => [row("runs", "r")]);
  await ledger.record("run.ended", [event()], () => []);
  assert.deepEqual(
    done.filter((one) => !/^(before|after)/.test(one)),
    ["store r process", "store r process", "log run_ended"],
  );
  const locked = stand({ open: false });
  await locked.ledger.record("gateway.locked", [event()], [row("runs", "r")]);
  assert.deepEqual(locked.done, ["before gateway.locked", "log run_ended", "after gateway.locked"]);
});

test("while the gateway is locked no intent is written, and there are no rows to find", async () => {
  const { ledger, done, store } = stand({ open: false });
  await assert.rejects(ledger.intent("call.intent", [event()], [], false), denies("gateway_locked"));
  assert.deepEqual([ledger.find("runs", "r"), ledger.load("runs", "open")], [null, []]);
  assert.equal(await ledger.change("lease.taken", "operations", "op_1", () => assert.fail("nothing to change")), null);
  assert.deepEqual(
    done.filter((one) => /^(log|store)/.test(one)),
    [],
  );
  ledger.openStore(store);
  assert.deepEqual([ledger.find("runs", "r"), ledger.load("runs", "open")], [row("runs", "r"), [row("runs", "open")]]);
});

test("every row names the gateway that ends what began in its log, but for what goes from hand to hand", async () => {
  const { ledger, kept } = stand();
  const rows = [row("runs", "r"), row("notes", "n", { worker: "another" })];
  await ledger.record("run.ended", [], [...rows, row("operations", "o"), row("deployments", "d")]);
  await ledger.intent("call.intent", [event()], [row("attempts", "a")], true);
  assert.deepEqual(
    kept.map(({ body }) => body),
    [{ worker: "me" }, { worker: "another" }, {}, {}, { worker: "me" }],
  );
});

test("the first failure of the log or of the store stops everything, is told once, and lasts until somebody resumes", async () => {
  for (const what of ["log", "store"] as const) {
    const { ledger, refuses, stops, done } = stand();
    const attempts = [
      () => ledger.record("run.started", [event()], [row("runs", "r")]),
      () => ledger.record("run.ended", [event()], () => [row("runs", "r")]),
      () => ledger.intent("call.intent", [event()], [row("attempts", "a")], true),
      () => ledger.change("lease.taken", "operations", "op_1", (one) => one),
      () => ledger.note([event() as HouseEvent]),
    ];
    refuses[what] = GONE;
    const underWay = await Promise.allSettled(attempts.slice(0, 3).map((begin) => begin()));
    for (const one of underWay) assert.ok(one.status === "rejected" && denies("gateway_stopped")(one.reason));
    assert.deepEqual([ledger.stopped, stops], [true, [GONE]]);
    refuses[what] = null;
    const before = done.length;
    for (const begin of attempts) await assert.rejects(begin(), denies("gateway_stopped"));
    assert.equal(done.length, before, "nothing is written any more");
    ledger.resume();
    for (const begin of attempts) await begin();
    assert.equal(ledger.stopped, false);
  }
});

test("after the store has failed, the log has what came of a send and what happened to the gateway itself, and nothing else", async () => {
  const { ledger, refuses, done, stops, look, waiting } = stand();
  refuses.store = GONE;
  await assert.rejects(ledger.record("run.started", [], [row("runs", "r")]), denies("gateway_stopped"));
  done.length = 0;
  const settle = () => ledger.record("call.settled", [event("attempt_ended")], [row("attempts", "a")]);
  await assert.rejects(settle(), denies("gateway_stopped"));
  await ledger.noteHappened([event("ssh_check_finished") as HouseEvent]);
  for (const step of ["run.ended", "session.started", "approval.requested", "operation.settled"] as const)
    await assert.rejects(ledger.record(step, [event()]), denies("gateway_stopped"));
  await assert.rejects(ledger.record("call.settled", [], [row("attempts", "a")]), denies("gateway_stopped"));
  assert.deepEqual(done, ["log attempt_ended", "log ssh_check_finished"]);
  refuses.log = FULL;
  const waits = assert.rejects(settle(), denies("gateway_stopped"));
  await turns();
  assert.equal(waiting(), 1);
  refuses.log = null;
  look();
  await waits;
  assert.equal(done.length, 3);
  refuses.log = GONE;
  await assert.rejects(settle(), denies("gateway_stopped"));
  refuses.log = null;
  await assert.rejects(settle(), denies("gateway_stopped"));
  await assert.rejects(ledger.noteHappened([event() as HouseEvent]), denies("gateway_stopped"));
  assert.deepEqual([done.length, stops], [3, [GONE]], "a log that has failed is not asked again");
  ledger.resume();
  refuses.store = null;
  await settle();
});

test("an intent that was written while something else failed is not sent", async () => {
  const { ledger, refuses, hold, done } = stand();
  const release = hold();
  const intent = ledger.intent("call.intent", [event()], [], true);
  refuses.store = GONE;
  await assert.rejects(ledger.record("run.started", [], [row("runs", "r")]), denies("gateway_stopped"));
  release();
  await assert.rejects(intent, denies("gateway_stopped"));
  assert.ok(!done.includes("after call.intent"));
});

test("a full log, a row that another gateway took over and a hub that is away stop nothing", async () => {
  for (const code of ["log_backlogged", "operation_taken_over", "hub_unreachable"] as const) {
    const { ledger, refuses } = stand();
    refuses.store = new Denied(code, "later");
    await assert.rejects(ledger.record("operation.stopped", [], [row("operations", "o")]), denies(code));
    await assert.rejects(ledger.intent("call.intent", [], [row("attempts", "a")], true), denies(code));
    await assert.rejects(
      ledger.change("lease.taken", "operations", "o", () => null),
      denies(code),
    );
    assert.equal(ledger.stopped, false);
  }
  const { ledger, refuses, stops } = stand();
  refuses.store = new Denied("state_tampered", "of no such kind");
  await assert.rejects(ledger.record("operation.stopped", [], [row("operations", "o")]), denies("gateway_stopped"));
  assert.deepEqual(stops, [refuses.store]);
});

test("where the log is full, what begins is refused and what has happened waits", async () => {
  const { ledger, refuses, done, look, waiting } = stand();
  refuses.log = FULL;
  await assert.rejects(ledger.intent("call.intent", [event()], [], false), denies("log_backlogged"));
  await assert.rejects(ledger.record("run.started", [event()]), denies("log_backlogged"));
  await assert.rejects(ledger.note([event() as HouseEvent]), denies("log_backlogged"));
  const settled = ledger.record("call.settled", [event()], [row("attempts", "a")]);
  await turns();
  assert.equal(waiting(), 1);
  refuses.log = null;
  look();
  await settled;
  assert.deepEqual(done.slice(-3), ["log run_ended", "store a process", "after call.settled"]);
});

test("what happened to the gateway itself is told once there is room, before all that comes later, and nobody waits for it", async () => {
  const { ledger, refuses, done, look, waiting } = stand();
  refuses.log = FULL;
  await ledger.noteHappened([event("gateway_unlocked") as HouseEvent]);
  await turns();
  assert.deepEqual([done, waiting()], [[], 1]);
  refuses.log = null;
  await assert.rejects(ledger.note([event("gateway_started") as HouseEvent]), denies("log_backlogged"));
  look();
  await turns();
  await ledger.noteHappened([event("gateway_resumed") as HouseEvent]);
  assert.deepEqual(done, ["log gateway_unlocked", "log gateway_resumed"]);
  refuses.log = GONE;
  await assert.rejects(ledger.noteHappened([event() as HouseEvent]), denies("gateway_stopped"));
});

test("long contents go ahead of what names them, and a log that fails there stops everything too", async () => {
  const contents = Array.from({ length: 5 }, () => event("content_kept"));
  const { ledger, done, refuses, stops } = stand();
  await ledger.record("approval.requested", [...contents, event("approval_requested")]);
  const four = "content_kept content_kept content_kept content_kept";
  assert.deepEqual(done.slice(1, -1), [`log ${four}`, "log content_kept", "log approval_requested"]);
  refuses.log = GONE;
  await assert.rejects(ledger.record("approval.requested", contents), denies("gateway_stopped"));
  assert.deepEqual(stops, [GONE]);
});

test("a picture of a row that waited for the log does not replace a later one", async () => {
  const { ledger, kept, hold } = stand();
  const release = hold();
  const early = ledger.record("run.ended", [event()], [row("runs", "r", { at: 1 })]);
  const late = ledger.intent("call.intent", [event()], [row("runs", "r", { at: 2 })], false);
  release();
  await Promise.all([early, late]);
  assert.deepEqual(
    kept.map(({ body }) => body["at"]),
    [2],
  );
});

test("nor does it replace a lease that was taken meanwhile", async () => {
  const { ledger, kept, hold } = stand();
  const release = hold();
  const early = ledger.record("operation.stopped", [event()], [row("operations", "op_1")]);
  await ledger.change("lease.taken", "operations", "op_1", (one) => one);
  release();
  await early;
  assert.deepEqual(kept, []);
});

test("who watches a table hears of its rows once they are kept, whichever way, until they stop", async () => {
  const { ledger, refuses, done } = stand();
  const heard: string[] = [];
  const stop = ledger.watch("operations", () => heard.push("operations"));
  ledger.watch("runs", () => heard.push("runs"));
  const changed = await ledger.change("lease.taken", "operations", "op_1", (one) => ({ ...one, state: "observing" }));
  assert.ok(changed !== null && !("tampered" in changed) && changed.state === "observing");
  assert.deepEqual(done, ["before lease.taken", "after lease.taken"]);
  await ledger.record("run.ended", [], () => [row("runs", "r"), row("runs", "s")]);
  await ledger.intent("call.intent", [event()], [row("attempts", "a"), row("operations", "o")], true);
  assert.deepEqual(heard, ["operations", "runs", "operations"]);
  assert.equal(await ledger.change("lease.taken", "operations", "none", (one) => one), null);
  const edited = await ledger.change("lease.taken", "operations", "edited", (one) => one);
  assert.deepEqual(edited, { tampered: "edited" });
  refuses.store = new Denied("operation_taken_over", "another's");
  await assert.rejects(ledger.record("operation.stopped", [], [row("operations", "o")]));
  assert.equal(heard.length, 3, "nothing was kept");
  refuses.store = null;
  stop();
  await ledger.record("operation.stopped", [], [row("operations", "o")]);
  assert.equal(heard.length, 3);
});
