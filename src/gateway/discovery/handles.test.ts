import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { type Continuation, createHandles } from "./handles.ts";

const asked = {
  ...{ runId: "run_1", callerKey: "k", action: "acme.list" },
  ...{ inputDigest: "sha256:1", packDigest: "sha256:2" },
} as unknown as Continuation;
const page = { ...asked, cursor: "c2", skip: 3, pageSize: 10, seen: new Set() } as Continuation;

test("a list goes on for whoever began it, with the same arguments under the same pack, and for nobody else", () => {
  const handles = createHandles();
  handles.keep("lst_1", page, 0);
  const { runId, callerKey, action, inputDigest, packDigest } = asked;
  const same = { runId, callerKey, action, inputDigest, packDigest };
  assert.equal(handles.find("lst_1", same, 1)?.cursor, "c2");
  assert.equal(handles.find("lst_2", same, 1), undefined);
  for (const name of Object.keys(same))
    assert.equal(handles.find("lst_1", { ...same, [name]: "another" }, 1), undefined, name);
  assert.notEqual(handles.find("lst_1", same, defaults.listHandleMs - 1), undefined);
  assert.equal(handles.find("lst_1", same, defaults.listHandleMs), undefined);
});

test("so many are kept, the oldest go first, and none for longer than its time", () => {
  const handles = createHandles();
  const { runId, callerKey, action, inputDigest, packDigest } = asked;
  const known = (handle: string, nowMs = 1) =>
    handles.find(handle, { runId, callerKey, action, inputDigest, packDigest }, nowMs) !== undefined;
  for (let at = 0; at <= defaults.listHandles; at++) handles.keep(`lst_${at}`, page, 0);
  assert.deepEqual([known("lst_0"), known("lst_1"), known(`lst_${defaults.listHandles}`)], [false, true, true]);
});
