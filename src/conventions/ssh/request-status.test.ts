import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../kernel/json.ts";
import { readRequestStatus, STARTED } from "./request-status.ts";

const ID = "evt_one";
const tell = (body: JsonValue) => readRequestStatus(ID, body, null);

test("only an exit status of zero that came in time is a success", () => {
  const end = (exit_status: JsonValue, signal: JsonValue = null, timed_out = false) =>
    tell({ request_id: ID, state: "finished", exit_status, signal, timed_out });
  assert.deepEqual(end(0), { kind: "succeeded" });
  assert.deepEqual(end(7), { kind: "failed", proof: "exit_7" });
  for (const cut of [end(null, "SIGKILL"), end(7, null, true), end(0, null, true)])
    assert.deepEqual(cut, { kind: "interrupted" });
  for (const unclear of [end(null), end("0"), end(false), end(null, "\u001b[2J")])
    assert.equal(unclear.kind, "unclear");
});

test("an identifier that was never seen is fenced, so that its absence is a proof", () => {
  assert.deepEqual(tell({ request_id: ID, state: "absent" }), { kind: "failed", proof: "absent_and_fenced" });
});

test("no absence undoes a start that the host told of", () => {
  assert.deepEqual(readRequestStatus(ID, { request_id: ID, state: "absent" }, STARTED), { kind: "record_gone" });
});

test("running and interrupted prove neither", () => {
  assert.deepEqual(tell({ request_id: ID, state: "running" }), { kind: "running" });
  assert.deepEqual(tell({ request_id: ID, state: "interrupted" }), { kind: "interrupted" });
});

test("an answer about another request proves nothing", () => {
  assert.deepEqual(tell({ request_id: "evt_two", state: "absent" }), { kind: "unclear", why: "another_request" });
});

test("whatever else a host says is unclear", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      assert.equal(tell(body as JsonValue).kind, "unclear");
    }),
  );
});
