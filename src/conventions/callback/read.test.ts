import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import type { CallbackRule, EventIdPlace } from "./callback.ts";
import { readCallback } from "./read.ts";

const rule = (eventId: EventIdPlace): CallbackRule => ({
  scheme: { kind: "standard_webhooks" },
  credential: "hook",
  eventId,
  jobId: "/data/job_id",
});
const read = (body: string, eventId: EventIdPlace = { kind: "scheme" }, rawHeaders = ["Webhook-Id", "evt_1"]) =>
  readCallback("acme", rule(eventId), { rawHeaders, body: Buffer.from(body) });

test("the job and the event are all that is read from a callback", () => {
  const { eventId, jobId } = read('{"type":"report.succeeded","data":{"job_id":"job-1","state":"succeeded"}}');
  assert.deepEqual([eventId, jobId], ["evt_1", "job-1"]);
  assert.equal(read('{"data":{"job_id":7}}').jobId, "7");
  for (const body of ["{}", '{"data":[]}', '{"data":{"job_id":""}}', '{"data":{"job_id":{}}}', "[]", "1"]) {
    assert.equal(read(body).jobId, null, body);
  }
  assert.equal(read(JSON.stringify({ data: { job_id: "x".repeat(257) } })).jobId, null);
});

test("the same event has the same key in any order of its members, another event or pack has another", () => {
  const one = read('{"a":1,"data":{"job_id":"j"}}');
  assert.equal(read('{"data":{"job_id":"j"},"a":2}').key, one.key, "the identifier names the event");
  assert.notEqual(read("{}", { kind: "scheme" }, ["Webhook-Id", "evt_2"]).key, one.key);
  const elsewhere = readCallback("other", rule({ kind: "scheme" }), {
    rawHeaders: ["Webhook-Id", "evt_1"],
    body: Buffer.from("{}"),
  });
  assert.notEqual(elsewhere.key, one.key);
});

test("an event may be named in the body or in a header, and without a name the bytes name it", () => {
  const inBody: EventIdPlace = { kind: "body", pointer: "/id" };
  assert.equal(read('{"id":"e7"}', inBody).eventId, "e7");
  assert.equal(read('{"id":"e7"}', inBody).key, read('{"id":"e7","more":1}', inBody).key);
  const inHeader: EventIdPlace = { kind: "header", name: "x-delivery" };
  assert.equal(read("{}", inHeader, ["X-Delivery", "d1"]).eventId, "d1");
  assert.equal(read("{}", inHeader, ["X-Delivery", "d 1"]).eventId, null, "what is not visible ASCII names nothing");
  assert.equal(read("{}", { kind: "none" }).key, read("{}", { kind: "none" }).key);
  assert.notEqual(read("{}", { kind: "none" }).key, read("{ }", { kind: "none" }).key);
});

test("no event can be named so that it is taken for unnamed bytes", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.string()), fc.string(), (members, id) => {
      const named = read(JSON.stringify({ id }), { kind: "body", pointer: "/id" });
      const bytes = read(JSON.stringify(members), { kind: "none" });
      if (named.eventId !== null) assert.notEqual(named.key, bytes.key);
    }),
  );
});

test("a body that is not strict JSON is refused", () => {
  for (const body of ["", "{", '{"a":1,"a":2}', "{} ,", "NaN", "\ufeff{}"]) {
    assert.throws(
      () => read(body),
      (error) => error instanceof Denied,
      body,
    );
  }
});
