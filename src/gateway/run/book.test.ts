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
  assert.deepEqual([one.endReason, book.hasSession("caller")], ["run_over", true]);
  book.endSession(two, "run_over", "now");
  assert.equal(book.hasSession("caller"), false);
});

test("results are held by their bytes: the oldest make room and say that they are gone", async () => {
  const book = createBook({ ...LIMITS, callsPerRun: 10 });
  const calls = ["call_1", "call_2", "call_3"].map((id) => call(id, "run_1"));
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

function isCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Denied && error.code === code;
}
