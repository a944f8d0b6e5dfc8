import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import type { LiveCaller } from "../ports.ts";
import { createKin, isDescendant } from "./descendants.ts";
import { findOperation, findRun, partyIn, requireRun } from "./find.ts";
import type { Run, Session } from "./run.ts";

const RUN = "run_1" as Run["id"];

interface Seen {
  readonly key?: string;
  readonly pid?: number;
  readonly uid?: number;
  readonly startTime?: string;
  readonly binding?: string;
  readonly ancestry?: readonly { readonly pid: number; readonly startTime: string }[];
  /** One answer a look; the last one stays. */
  readonly looks?: readonly ("same" | "gone" | "replaced" | "traced")[];
}

function callerOf({
  key = "child",
  pid = 8,
  uid = 1000,
  startTime = "80",
  binding = "process",
  ...seen
}: Seen): LiveCaller {
  const looks = [...(seen.looks ?? ["same" as const])];
  return {
    ...{ key, pid, uid, binding, evidence: { process: { startTime } } },
    ancestry: () => seen.ancestry ?? [{ pid: 7, startTime: "70" }],
    check: () => ({ kind: looks.length > 1 ? looks.shift() : looks[0] }),
  } as unknown as LiveCaller;
}

function runOf(change: Partial<Run> = {}, owner: Seen = {}, state: Session["state"] = "approved"): Run {
  const caller = callerOf({ key: "wrapper", pid: 7, startTime: "70", ancestry: [], ...owner });
  const sessions = new Map([["wrapper", { caller, state, endReason: null } as unknown as Session]]);
  return { id: RUN, ownerKey: "wrapper", state: "open", kin: createKin(), sessions, ...change } as unknown as Run;
}

test("whoever the live wrapper started belongs to its run", () => {
  assert.equal(isDescendant(runOf(), callerOf({})), true);
  const far = [
    { pid: 12, startTime: "90" },
    { pid: 7, startTime: "70" },
    { pid: 1, startTime: "1" },
  ];
  assert.equal(isDescendant(runOf(), callerOf({ ancestry: far })), true);
});

test("anything that is unclear about it is a no", () => {
  const noes: Readonly<Record<string, readonly [Run, LiveCaller]>> = {
    "a run without a wrapper": [runOf({ kin: null }), callerOf({})],
    "a run that has ended": [runOf({ state: "ended" }), callerOf({})],
    "a run that nobody let begin": [runOf({ state: "pending" }), callerOf({})],
    "a wrapper without a session": [runOf({ sessions: new Map() }), callerOf({})],
    "a wrapper whose session ended": [runOf({}, {}, "ended"), callerOf({})],
    "the wrapper itself": [runOf(), callerOf({ key: "wrapper" })],
    "another user": [runOf(), callerOf({ uid: 1001 })],
    "a caller that is known by its connection alone": [runOf(), callerOf({ binding: "connection" })],
    "no parents": [runOf(), callerOf({ ancestry: [] })],
    "another process under the wrapper's number": [runOf(), callerOf({ ancestry: [{ pid: 7, startTime: "71" }] })],
    "another number of that time": [runOf(), callerOf({ ancestry: [{ pid: 9, startTime: "70" }] })],
    "a wrapper that is gone": [runOf({}, { looks: ["gone"] }), callerOf({})],
    "a wrapper that goes during the walk": [runOf({}, { looks: ["same", "gone"] }), callerOf({})],
    "a wrapper that somebody traces": [runOf({}, { looks: ["traced"] }), callerOf({})],
    "a caller that is gone": [runOf(), callerOf({ looks: ["gone"] })],
    "a caller that is replaced during the walk": [runOf(), callerOf({ looks: ["same", "replaced"] })],
  };
  for (const [what, [run, caller]] of Object.entries(noes)) assert.equal(isDescendant(run, caller), false, what);
});

test("a run is found by who belongs to it, and owns plans and operations under the wrapper's name", () => {
  const run = runOf();
  const strangers = { run: () => run, findRun: () => assert.fail("not found") } as never;
  const child = callerOf({});
  assert.equal(findRun({ book: strangers }, child, RUN), run);
  assert.throws(() => findRun({ book: strangers }, callerOf({ ancestry: [] }), RUN), /not found/);
  assert.throws(() => findRun({ book: strangers }, child, undefined), /not found/);
  assert.equal(partyIn({ book: strangers }, child, RUN), "wrapper");
  assert.equal(
    partyIn({ book: strangers }, callerOf({ ancestry: [] }), RUN),
    "child",
    "a stranger owns their own alone",
  );
  assert.equal(partyIn({ book: { run: () => undefined } as never }, child, RUN), "child");
  assert.equal(requireRun({ book: strangers }, RUN), run);
  assert.throws(() => requireRun({ book: strangers }, undefined), /no such run/);
});

test("an operation is found by whoever it belongs to, and does not exist for anybody else", () => {
  const operation = { party: "wrapper", purse: { id: RUN } };
  const core = { book: { run: () => runOf() }, operations: { get: () => operation } } as never;
  assert.equal(findOperation(core, callerOf({}), undefined), operation);
  const stranger = callerOf({ ancestry: [] });
  assert.throws(
    () => findOperation(core, stranger, undefined),
    (error) => isDenied(error, "not_found"),
  );
});

function isDenied(error: unknown, code: string): boolean {
  return error instanceof Denied && error.code === code;
}
