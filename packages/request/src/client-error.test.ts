import assert from "node:assert/strict";
import { test } from "node:test";
import { createClientErrorHandler } from "./client-error.ts";

function handle(error: Error, state: { readonly writable: boolean; readonly bytesWritten: number }): string {
  let said = "";
  createClientErrorHandler(() => "c-1")(error, {
    ...state,
    end: (text) => {
      said = text;
    },
    destroy: () => {
      said = "destroyed";
    },
  });
  return said;
}

const fresh = { writable: true, bytesWritten: 0 };

test("bytes that never became a request get the one envelope and the connection ends", () => {
  const said = handle(Object.assign(new Error("bad"), { code: "HPE_INVALID_METHOD" }), fresh);
  const [head = "", body = ""] = said.split("\r\n\r\n");
  assert.match(head, /^HTTP\/1\.1 400 /);
  assert.match(head, /connection: close/);
  const problem = JSON.parse(body);
  assert.deepEqual([problem.code, problem.status, problem.correlation_id], ["framing_invalid", 400, "c-1"]);
  assert.match(head, new RegExp(`content-length: ${Buffer.byteLength(body)}`));
});

test("an overlong head and a request that never ends have codes of their own", () => {
  assert.match(handle(Object.assign(new Error("x"), { code: "HPE_HEADER_OVERFLOW" }), fresh), /431.*head_too_large/s);
  assert.match(
    handle(Object.assign(new Error("x"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), fresh),
    /408.*request_timed_out/s,
  );
  assert.match(handle(new Error("no code"), fresh), /framing_invalid/);
});

test("whoever never hangs up does not hold the connection: it ends when the refusal is written", () => {
  const steps: string[] = [];
  let written = (): void => undefined;
  createClientErrorHandler(() => "c-1")(new Error("x"), {
    ...fresh,
    end: (_text, onWritten) => {
      steps.push("end");
      written = onWritten;
    },
    destroy: () => steps.push("destroy"),
  });
  assert.deepEqual(steps, ["end"]);
  written();
  assert.deepEqual(steps, ["end", "destroy"]);
});

test("nothing is added to a reply that is already under way", () => {
  assert.equal(handle(new Error("x"), { writable: true, bytesWritten: 10 }), "destroyed");
  assert.equal(handle(new Error("x"), { writable: false, bytesWritten: 0 }), "destroyed");
});
