import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../kernel/testing/any-text.ts";
import { decodeRecord, encodeEvent, redactRecord } from "./codec.ts";
import type { EventShape } from "./event/field.ts";
import { type AuditEvent, eventTypes, kindOf, type NewEvent, runOf } from "./event.ts";

const denied: NewEvent = {
  event_id: "evt_1",
  event_type: "call_denied",
  occurred_at: "2026-01-01T00:00:00.000Z",
  run_id: "run_1",
  code: "not_found",
  action: "acme.report.create",
  caller: "unsigned /usr/bin/node",
};

function encoded(event: NewEvent, sequence = 1): string {
  return `{"sequence":${sequence},${encodeEvent(event).slice(1)}`;
}

test("every event name of the specification is known", () => {
  for (const name of [
    "authorization_granted",
    "action_started",
    "action_finished",
    "action.intent",
    "intent_accepted",
    "transport_started",
    "outcome_unobserved",
    "reconciled_success",
  ]) {
    assert.equal(kindOf(name)?.journal, "activity", name);
  }
});

test("previews are recorded on a path of their own", () => {
  for (const name of eventTypes.filter((type) => type.startsWith("preview_") || type.startsWith("plan_"))) {
    assert.equal(kindOf(name)?.journal, "previews", name);
  }
});

test("the call event of a budget has the specification's fields", () => {
  for (const type of ["budget_reserved", "budget_settled", "budget_denied"]) {
    const fields = Object.keys(kindOf(type)?.shape ?? {});
    for (const name of [
      "run_id",
      "attempt",
      "logical_operation",
      "channel",
      "destination_class",
      "outcome",
      "reason",
      "attempts_remaining",
      "elapsed_ms",
      "reserved_spend_cents",
    ]) {
      assert.ok(fields.includes(name), `${type} has ${name}`);
    }
  }
});

test("an intent and its completion carry the fields of the request log", () => {
  for (const type of ["action.intent", "intent_accepted", "action_finished"]) {
    assert.deepEqual(Object.keys(kindOf(type)?.shape["request"]?.fields ?? {}).sort(), [
      "correlation_id",
      "credential_label",
      "decision",
      "normalized_operation",
      "status",
      "target_boundary",
      "version_selector",
    ]);
  }
});

test("an event comes back as it went in", () => {
  const decoded = decodeRecord(encoded(denied, 42));
  assert.deepEqual(decoded, { kind: "event", journal: "activity", event: { sequence: 42, ...denied } });
});

test("a field that no table declares is written as secret, at any depth", () => {
  const slipped = {
    ...denied,
    authorization: "Bearer hunter2",
    constructor: "hunter2",
    request: {
      version_selector: null,
      normalized_operation: "GET /",
      target_boundary: "x",
      credential_label: "l",
      decision: "deny",
      status: null,
      correlation_id: "c",
      cookie: "hunter2",
    },
  } as unknown as NewEvent;
  const text = encoded(slipped);
  assert.ok(!text.includes("hunter2"), text);
  const decoded = decodeRecord(text);
  assert.equal(decoded.kind, "event");
  assert.equal((JSON.parse(text) as { authorization: string }).authorization, "[secret]");
});

test("a declared field of another type is our own mistake and is refused", () => {
  assert.throws(() => encodeEvent({ ...denied, code: 7 } as unknown as NewEvent), { name: "Fault" });
  assert.throws(() => encodeEvent({ ...denied, event_type: "made_up" } as unknown as NewEvent), { name: "Fault" });
});

test("an export leaves out people unless asked, and secrets always", () => {
  const intent = {
    event_id: "evt_2",
    event_type: "action.intent",
    occurred_at: "2026-01-01T00:00:00.000Z",
    sequence: 1,
    agent_run_id: "run_1",
    actor: { agent_process: "node", human_requester: "ada" },
    ticket: null,
    action: { channel: "http", operation: "a.b", target: "t", request_digest: "sha256:0", idempotency_id: "token-1" },
    decision: { reference_required: false, authorized_by: "ada", decision_at: "2026-01-01T00:00:00.000Z" },
    request: {
      version_selector: null,
      normalized_operation: "GET /",
      target_boundary: "x",
      credential_label: "l",
      decision: "allow",
      status: null,
      correlation_id: "c",
    },
    later_field: "from a newer version",
  } as unknown as AuditEvent;
  const closed = JSON.stringify(redactRecord(intent, new Set(["open", "claim"])));
  assert.ok(!closed.includes("ada") && !closed.includes("token-1") && !closed.includes("newer"), closed);
  const people = JSON.stringify(redactRecord(intent, new Set(["open", "claim", "person", "content", "secret"])));
  assert.ok(people.includes("ada") && !people.includes("token-1") && !people.includes("newer"), people);
});

test("an event of a newer version shows its envelope and nothing else", () => {
  const text = '{"sequence":3,"event_id":"e","event_type":"not_yet","occurred_at":"t","payload":"x"}';
  const decoded = decodeRecord(text);
  assert.equal(decoded.kind, "newer");
  if (decoded.kind !== "newer") return;
  const shown = redactRecord(decoded.event, new Set(["open", "claim", "person"]));
  assert.deepEqual(
    { ...shown },
    { sequence: 3, event_id: "e", event_type: "not_yet", occurred_at: "t", payload: "[secret]" },
  );
});

test("every declared field is classified, and every type has an example that survives the codec", () => {
  for (const type of eventTypes) {
    const kind = kindOf(type);
    assert.ok(kind);
    const event = { ...exampleOf(kind.shape), event_type: type } as unknown as NewEvent;
    const { sequence: _, ...rest } = event as NewEvent & { sequence: number };
    const decoded = decodeRecord(encoded(rest as NewEvent, 9));
    assert.equal(decoded.kind, "event", `${type}: ${JSON.stringify(decoded)}`);
    if (decoded.kind === "event") {
      assert.deepEqual(decoded.event, { ...event, sequence: 9 });
      const run = runOf(decoded.event);
      assert.ok(run === undefined || run === "text");
    }
  }
});

function exampleOf(shape: EventShape): Record<string, unknown> {
  const example: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(shape)) {
    assert.ok(["open", "claim", "person", "content", "secret"].includes(field.class), name);
    const inner = field.fields === null ? null : exampleOf(field.fields);
    example[name] = { text: "text", integer: 5, flag: true, texts: ["a", "b"], group: inner, groups: [inner] }[
      field.kind
    ];
  }
  return example;
}

test("no text makes the decoder throw", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.jsonValue().map((value) => JSON.stringify(value)),
      ),
      (text) => {
        assert.ok(["event", "newer", "malformed"].includes(decodeRecord(text).kind));
      },
    ),
  );
});

test("any text in any field survives", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const decoded = decodeRecord(encoded({ ...denied, caller: text, reason: text }));
      const event = { sequence: 1, ...denied, caller: text, reason: text };
      assert.deepEqual(decoded, { kind: "event", journal: "activity", event });
    }),
  );
});

test("a record with a missing or wrongly typed field is malformed, never half believed", () => {
  const whole = JSON.parse(encoded(denied)) as Record<string, unknown>;
  for (const name of ["event_id", "occurred_at", "sequence", "code", "action", "caller"]) {
    const { [name]: _, ...rest } = whole;
    assert.equal(decodeRecord(JSON.stringify(rest)).kind, "malformed", name);
    assert.equal(decodeRecord(JSON.stringify({ ...whole, [name]: {} })).kind, "malformed", name);
  }
});
