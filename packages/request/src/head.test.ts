import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../src/kernel/failure.ts";
import { checkHead, type ExpectedBody } from "./head.ts";

const json: ExpectedBody = { kind: "json", mediaType: "application/json", maxBytes: 100 };
const multipart: ExpectedBody = { kind: "multipart", mediaType: "multipart/form-data", maxBytes: 100 };
const none: ExpectedBody = { kind: "none" };

function outcome(body: ExpectedBody, ...fields: readonly string[]): unknown {
  try {
    return checkHead(body, { method: "POST", target: "/", rawHeaders: ["Host", "t", ...fields] });
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return error.code;
  }
}

const typed = ["Content-Type", "application/json"];

test("the declared type passes, with charset=utf-8 normalized away", () => {
  const bare = { mediaType: "application/json", boundary: undefined };
  assert.deepEqual(outcome(json, ...typed), bare);
  assert.deepEqual(outcome(json, "content-type", "APPLICATION/json;charset=UTF-8"), bare);
  assert.deepEqual(outcome(multipart, "Content-Type", "multipart/form-data; boundary=b"), {
    ...{ mediaType: "multipart/form-data", boundary: "b" },
  });
});

test("one field says what the body is, or the request is refused", () => {
  for (const name of ["Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Host", "Expect"]) {
    assert.equal(outcome(json, ...typed, name, "1", name.toUpperCase(), "1"), "framing_invalid", name);
  }
  assert.equal(outcome(json, ...typed, "Content-Length", "1", "Transfer-Encoding", "chunked"), "framing_invalid");
  assert.equal(outcome(json, ...typed, "Transfer-Encoding", "gzip"), "framing_invalid");
  assert.equal(outcome(json, ...typed, "Content-Length", "1e1"), "framing_invalid");
  assert.equal(outcome(json, ...typed, "Content-Range", "bytes 0-1/2"), "framing_invalid");
  assert.equal(outcome(json, ...typed, "Trailer", "X"), "framing_invalid");
});

test("a request without Host is refused, one of HTTP/2 has its authority instead", () => {
  const head = (...rawHeaders: readonly string[]) => checkHead(none, { method: "GET", target: "/", rawHeaders });
  assert.throws(() => head(), { code: "framing_invalid" });
  assert.deepEqual(head(":authority", "t"), { mediaType: null, boundary: undefined });
});

test("any Content-Encoding is refused, even the one that means none", () => {
  for (const coding of ["gzip", "identity", ""]) {
    assert.equal(outcome(json, ...typed, "Content-Encoding", coding), "content_encoding_unsupported");
    assert.equal(outcome(none, "Content-Encoding", coding), "content_encoding_unsupported");
  }
});

test("an announced length is held against the limit before anything is read", () => {
  assert.notEqual(outcome(json, ...typed, "Content-Length", "100"), "body_too_large");
  assert.equal(outcome(json, ...typed, "Content-Length", "101"), "body_too_large");
});

test("a boundary belongs to multipart, and multipart has one", () => {
  assert.equal(outcome(multipart, "Content-Type", "multipart/form-data"), "media_type_unsupported");
  assert.equal(outcome(json, "Content-Type", "application/json; boundary=b"), "media_type_unsupported");
  assert.equal(outcome(multipart, "Content-Type", "multipart/mixed; boundary=b"), "media_type_unsupported");
});

test("a no-body route takes no type, no chunks and no length but zero", () => {
  assert.deepEqual(outcome(none), { mediaType: null, boundary: undefined });
  assert.deepEqual(outcome(none, "Content-Length", "0"), { mediaType: null, boundary: undefined });
  assert.equal(outcome(none, "Content-Length", "1"), "body_not_allowed");
  assert.equal(outcome(none, "Transfer-Encoding", "chunked"), "body_not_allowed");
  assert.equal(outcome(none, ...typed), "body_not_allowed");
});

test("Accept has no influence", () => {
  assert.deepEqual(outcome(json, ...typed, "Accept", "text/html"), outcome(json, ...typed));
  assert.equal(outcome(json, "Content-Type", "text/html", "Accept", "application/json"), "media_type_unsupported");
});
