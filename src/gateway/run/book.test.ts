import assert from "node:assert/strict";
import { test } from "node:test";
import type { CallResult } from "../../conventions/outcome/result.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId, RunId, SessionId } from "../../kernel/ids.ts";
import { createBook } from "./book.ts";
import type { Call, Run, Session } from "./run.ts";

const LIMITS = { runs: 3, callsPerRun: 2, resultBytes: 100 };

function run(id: string, ownerKey = "owner"): Run {
  const untold = new Set<string>();
  return { id: id as RunId, ownerKey, state: "open", sessions: new Map(), admission: null, untold } as never as Run;
}

function call(id: string, runId: string, state: Call["state"] = "done"): Call {
  const done = Promise.resolve({ call_id: id } as CallResult);
  return { id: id as CallId, runId: runId as RunId, callerKey: "owner", state, done } as never as Call;
}

function session(id: string, key: string): Session {
  return {
    id: id as SessionId,
    caller: { key },
    state: "approved",
    endReason: null,
    endedAt: null,
  } as never as Session;
}

test("open runs are counted by their owner, and an ended one no longer", () => {
  const book = createBook(LIMITS);
  const [first, second] = [run("run_1"), run("run_2", "another")];
  book.addRun(first);
  book.addRun(second);
  assert.deepEqual([book.openRunsOf("owner"), book.openRunsOf("another"), book.openRunsOf("nobody")], [1, 1, 0]);
  book.endRun(first);
  book.endRun(first);
  assert.deepEqual([book.openRunsOf("owner"), [...book.openRuns()]], [0, [second]]);
  assert.equal(book.findRun("owner", first.id), first, "it is still remembered");
});

test("the oldest ended runs are forgotten with their calls and sessions, a live one never", () => {
  const book = createBook(LIMITS);
  const live = run("run_live");
  book.addRun(live);
  for (const id of ["run_1", "run_2", "run_3"]) {
    const ended = run(id);
    const own = session(`ses_${id}`, "owner");
    book.addRun(ended);
    ended.sessions.set("owner", own);
    book.addSession(own);
    book.addCall(call(`call_${id}`, id));
    book.endRun(ended);
  }
  assert.throws(() => book.findRun("owner", "run_1" as RunId), isCode("not_found"));
  assert.throws(() => book.findCall("owner", "call_run_1" as CallId), isCode("not_found"));
  assert.equal(book.session("ses_run_1" as SessionId), undefined);
  assert.equal(book.findRun("owner", "run_2" as RunId).id, "run_2", "no more than has to be");
  assert.equal(book.session("ses_run_2" as SessionId)?.id, "ses_run_2");
  assert.deepEqual(
    book.sessions().map(({ id }) => id),
    ["ses_run_2", "ses_run_3"],
  );
  assert.equal(book.findRun("owner", "run_live" as RunId), live);
  assert.equal(book.findCall("owner", "call_run_3" as CallId).id, "call_run_3");
});

test("an ended run is not forgotten before the log has its end: a lock waits for that", async () => {
  const book = createBook(LIMITS);
  const [waiting, told] = [run("run_waiting"), Promise.withResolvers<void>()];
  waiting.untold.add(waiting.id);
  waiting.told = told.promise;
  for (const one of [waiting, run("run_1"), run("run_2"), run("run_3")]) {
    book.addRun(one);
    book.endRun(one);
  }
  const seen = book.allTold().then(() => "all told");
  assert.equal(await Promise.race([seen, new Promise((resolve) => setImmediate(resolve, "waits"))]), "waits");
  told.reject(new Error("the disk is gone"));
  assert.equal(await seen, "all told");
  assert.equal(waiting.untold.size, 0, "the next unlock tells it from its row");
});

test("a caller has a session until its last one ended, and a session ends once", () => {
  const book = createBook(LIMITS);
  const [one, two] = [session("ses_1", "caller"), session("ses_2", "caller")];
  book.addSession(one);
  book.addSession(two);
  assert.equal(book.endSession(one, "run_over", "now"), true);
  assert.equal(book.endSession(one, "operator_revoked", "later"), false);
  assert.deepEqual([one.endReason, one.endedAt, book.hasSession("caller")], ["run_over", "now", true]);
  book.endSession(two, "run_over", "now");
  assert.equal(book.hasSession("caller"), false);
});

test("results are held by their bytes: the oldest make room and say that they are gone", async () => {
  const book = createBook({ ...LIMITS, callsPerRun: 10 });
  // Nobody asks for the first one any more.
  const calls = ["call_0", "call_1", "call_2", "call_3"].map((id) => call(id, "run_1"));
  for (const one of calls) {
    book.addCall(one);
    book.keepResult(one, 40);
  }
  await assert.rejects(book.findCall("owner", "call_1" as CallId).done, isCode("result_gone"));
  assert.equal((await book.findCall("owner", "call_2" as CallId).done).call_id, "call_2");
  assert.equal((await book.findCall("owner", "call_3" as CallId).done).call_id, "call_3");
});

test("a call that is forgotten gives its bytes back", async () => {
  const book = createBook(LIMITS);
  for (const id of ["call_1", "call_2", "call_3", "call_4"]) {
    const one = call(id, "run_1");
    book.addCall(one);
    book.keepResult(one, 50);
  }
  assert.throws(() => book.findCall("owner", "call_2" as CallId), isCode("not_found"));
  assert.equal((await book.findCall("owner", "call_3" as CallId).done).call_id, "call_3");
});

test("after any number of calls it is still the oldest that make room, of those that are not forgotten", async () => {
  const book = createBook({ ...LIMITS, callsPerRun: 3, resultBytes: 1_000 });
  const known = new Map<string, string[]>();
  const held = new Map<string, number>();
  for (let index = 0; index < 600; index++) {
    const [id, runId, bytes] = [`call_${index}`, `run_${(index * 7) % 50}`, 10 + (index % 13)];
    const one = call(id, runId);
    book.addCall(one);
    book.keepResult(one, bytes);
    const own = [...(known.get(runId) ?? []), id];
    for (const gone of own.splice(0, Math.max(0, own.length - 3))) held.delete(gone);
    known.set(runId, own);
    held.set(id, bytes);
    let sum = [...held.values()].reduce((total, more) => total + more, 0);
    for (const [first, less] of held) {
      if (sum <= 1_000) break;
      held.delete(first);
      sum -= less;
    }
  }
  for (const id of [...known.values()].flat()) {
    const { done } = book.findCall("owner", id as CallId);
    if (held.has(id)) assert.equal((await done).call_id, id);
    else await assert.rejects(done, isCode("result_gone"));
  }
  assert.ok(held.size > 40 && held.size < 100, `${held.size}`);
});

test("what was forgotten or never known takes no room from what is held", async () => {
  const book = createBook({ runs: 2, callsPerRun: 2, resultBytes: 100 });
  const keep = (id: string, runId: string, bytes: number): void => {
    const one = call(id, runId);
    book.addCall(one);
    book.keepResult(one, bytes);
  };
  const held = (id: string) =>
    book.findCall("owner", id as CallId).done.then(
      () => true,
      () => false,
    );
  book.addRun(run("run_a"));
  keep("call_a", "run_a", 50);
  const over = run("run_b");
  book.addRun(over);
  keep("call_b", "run_b", 50);
  book.keepResult(call("call_unknown", "run_a"), 90);
  book.endRun(over);
  book.addRun(run("run_c"));
  keep("call_c", "run_c", 50);
  assert.deepEqual([await held("call_a"), await held("call_c")], [true, true]);
  // One that made room, and is then forgotten itself, made room once; one without a result makes none.
  keep("call_d", "run_a", 100);
  assert.deepEqual([await held("call_a"), await held("call_c"), await held("call_d")], [false, false, true]);
  book.addCall(call("call_e", "run_a"));
  book.addCall(call("call_f", "run_a"));
  book.addCall(call("call_g", "run_a"));
  assert.throws(() => book.findCall("owner", "call_a" as CallId), isCode("not_found"));
  keep("call_h", "run_c", 101);
  assert.equal(await held("call_h"), false);
});

test("a call that is under way is not forgotten, nor those after it, and those that wait are named", () => {
  const book = createBook(LIMITS);
  const calls = (["pending", "denied", "sending", "pending"] as const).map((state, at) =>
    call(`call_${at}`, "run_1", state),
  );
  for (const one of calls) book.addCall(one);
  for (const { id } of calls) assert.equal(book.findCall("owner", id).id, id);
  const waiting = () => book.waitingCalls("run_1" as RunId).map(({ id }) => id);
  assert.deepEqual(waiting(), ["call_0", "call_3"]);
  Object.assign(calls[0] as Call, { state: "done" });
  book.addCall(call("call_4", "run_1"));
  assert.deepEqual(waiting(), ["call_3"]);
  for (const id of ["call_0", "call_1"]) assert.throws(() => book.findCall("owner", id as CallId), isCode("not_found"));
  assert.equal(book.findCall("owner", "call_2" as CallId).id, "call_2");
  assert.deepEqual(book.waitingCalls("run_2" as RunId), []);
});

test("a run is found by whoever opened it, acts in it or asks to, and by nobody else; a call by its caller alone", () => {
  const book = createBook(LIMITS);
  const one = run("run_1");
  book.addRun(one);
  one.sessions.set("joined", session("ses_1", "joined"));
  Object.assign(one, { admission: { callerKey: "asking" } });
  for (const key of ["owner", "joined", "asking"]) assert.equal(book.findRun(key, one.id), one);
  assert.throws(() => book.findRun("stranger", one.id), isCode("not_found"));
  assert.throws(() => book.findRun("owner", undefined), isCode("not_found"));
  book.addCall(call("call_1", "run_1"));
  assert.throws(() => book.findCall("joined", "call_1" as CallId), isCode("not_found"));
  assert.throws(() => book.findCall("owner", undefined), isCode("not_found"));
});

function isCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Denied && error.code === code;
}
