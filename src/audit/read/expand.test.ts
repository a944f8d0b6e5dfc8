import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeRecord } from "../codec.ts";
import { type Asked, type AttemptBegun, type AttemptEnded, eventsIn, type LogRecord } from "../event.ts";
import { expand } from "./expand.ts";

const facts = {
  run_id: "run_1",
  call_id: "call_1",
  session_id: "ses_1",
  action: "acme.issue.get",
  channel: "http",
  authorization: "session:apr_1",
  normalized_operation: "GET /v1/issues/{id}",
  attempt: 4,
  destination_class: "public_api",
  attempts_remaining: 36,
  reserved_spend_cents: 7,
  deadline_at: "2026-01-01T00:10:00.000Z",
  spend_remaining_cents: 93,
  maximum_cents: 5,
} as const;

const begun: AttemptBegun & { sequence: number } = {
  sequence: 11,
  event_id: "evt_01m3250vz8ktm74n210jtsct8v",
  event_type: "attempt_begun",
  occurred_at: "2026-01-01T00:00:00.000Z",
  ...facts,
  authorized_by: "ada",
  approval_id: "apr_1",
  caller: "/usr/bin/node pid 7 uid 1000",
  destination: "https://api.acme.example",
  method: "GET",
  path: "/v1/issues/9",
  request_digest: "sha256:aa",
};

const ended: AttemptEnded & { sequence: number } = {
  sequence: 15,
  event_id: "evt_01m3250vz9zzzzzzzzzzzzzzzz",
  event_type: "attempt_ended",
  occurred_at: "2026-01-01T00:00:00.020Z",
  ...facts,
  attempt_id: begun.event_id,
  started_at: "2026-01-01T00:00:00.005Z",
  target_boundary: "https://api.acme.example",
  outcome: "succeeded",
  elapsed_ms: 14,
  remote_status: 200,
  provider_request_id: "req-9",
  transport_observation: "answered",
  response_digest: "sha256:bb",
  settled_spend_cents: 3,
  charge_basis: "stated",
  charged_cents: 3,
};

const links = { call_id: "call_1", attempt_id: begun.event_id, session_id: "ses_1" };
const request = {
  version_selector: null,
  normalized_operation: "GET /v1/issues/{id}",
  target_boundary: "https://api.acme.example",
  credential_label: null,
  decision: "session:apr_1",
  status: null,
  correlation_id: "call_1",
};
const budget = {
  run_id: "run_1",
  attempt: 4,
  logical_operation: "acme.issue.get",
  channel: "http",
  destination_class: "public_api",
  attempts_remaining: 36,
  reserved_spend_cents: 7,
  budget: { attempts_remaining: 36, deadline_at: "2026-01-01T00:10:00.000Z", spend_remaining_cents: 93 },
  decision: "allow",
};

test("the record before a send stands for the grant, the intent, its start and the reservation", () => {
  const { occurred_at } = begun;
  assert.deepEqual(expand(begun), [
    {
      sequence: 11,
      event_id: "evt_01m3250vz8mtm74n210jtsct8v",
      event_type: "authorization_granted",
      occurred_at,
      run: "run_1",
      action: "acme.issue.get",
      target: "https://api.acme.example/v1/issues/9",
      ...links,
      approval_id: "apr_1",
      authorized_by: "ada",
      request_digest: "sha256:aa",
    },
    {
      sequence: 12,
      event_id: begun.event_id,
      event_type: "intent_accepted",
      occurred_at,
      run_id: "run_1",
      ...links,
      action_id: begun.event_id,
      operation_id: null,
      channel: "http",
      destination: "https://api.acme.example",
      method: "GET",
      path: "/v1/issues/9",
      payload_sha256: null,
      authorization: "session:apr_1",
      action: "acme.issue.get",
      caller: "/usr/bin/node pid 7 uid 1000",
      media_type: null,
      url: "https://api.acme.example/v1/issues/9",
      request_digest: "sha256:aa",
      kept_digest: "sha256:aa",
      kept_whole: true,
      request,
    },
    {
      sequence: 13,
      event_id: "evt_01m3250vz8ntm74n210jtsct8v",
      event_type: "action_started",
      occurred_at,
      run: "run_1",
      parent_event_id: begun.event_id,
      ...links,
      transport: "http",
      operation: "acme.issue.get",
      request_id: begun.event_id,
    },
    {
      sequence: 14,
      event_id: "evt_01m3250vz8ptm74n210jtsct8v",
      event_type: "budget_reserved",
      occurred_at,
      ...links,
      ...budget,
      outcome: "allow",
      reason: null,
      elapsed_ms: 0,
      reservation: { action: "acme.issue.get", maximum_cents: 5, provider_reference: null },
    },
  ]);
});

test("the record of an end stands for the dispatch, the outcome and the settlement", () => {
  const { occurred_at } = ended;
  assert.deepEqual(expand(ended), [
    {
      sequence: 15,
      event_id: "evt_01m3250vz90zzzzzzzzzzzzzzz",
      event_type: "transport_started",
      occurred_at: "2026-01-01T00:00:00.005Z",
      run_id: "run_1",
      ...links,
      transport: "http",
      request_id: begun.event_id,
      attempt: 4,
    },
    {
      sequence: 16,
      event_id: ended.event_id,
      event_type: "action_finished",
      occurred_at,
      run: "run_1",
      parent_event_id: begun.event_id,
      ...links,
      outcome: "succeeded",
      remote_status: 200,
      request_id: begun.event_id,
      provider_request_id: "req-9",
      transport_observation: "answered",
      response_digest: "sha256:bb",
      confirmed: false,
      reason: null,
      elapsed_ms: 14,
      evidence: "remote_receipt",
      request: { ...request, status: 200 },
    },
    {
      sequence: 17,
      event_id: "evt_01m3250vz92zzzzzzzzzzzzzzz",
      event_type: "budget_settled",
      occurred_at,
      parent_event_id: begun.event_id,
      ...links,
      ...budget,
      outcome: "succeeded",
      reason: null,
      elapsed_ms: 14,
      settled_spend_cents: 3,
      charge_basis: "stated",
      charged_cents: 3,
      reservation: { action: "acme.issue.get", maximum_cents: 5, provider_reference: "req-9" },
    },
  ]);
});

test("where nothing tells what became of it, that stands between dispatch and outcome", () => {
  const unseen = { ...ended, unobserved: true, outcome: "unknown", reason: "timeout" } as const;
  const events = expand({ ...unseen, transport_observation: "silent" });
  assert.deepEqual(
    events.map(({ event_type, sequence }) => [event_type, sequence]),
    [
      ["transport_started", 15],
      ["outcome_unobserved", 16],
      ["action_finished", 17],
      ["budget_settled", 18],
    ],
  );
  assert.deepEqual(
    events.flatMap((event) => ("reason" in event ? [event.reason] : [])),
    ["timeout", "timeout", "timeout"],
  );
});

test("an operation on a host is named by user, host and port, and its URL by the scheme too", () => {
  const onHost = { ...begun, channel: "ssh", destination: "gw@host.example:22", path: "/restart" } as const;
  const [granted, intent] = expand(onHost);
  assert.equal(granted?.event_type === "authorization_granted" && granted.target, "gw@host.example:22");
  assert.equal(intent?.event_type === "intent_accepted" && intent.url, "ssh://gw@host.example:22/restart");
});

const asked: Asked = {
  plane: "agent",
  principal: "/usr/bin/node pid 7 uid 1000",
  endpoint: "POST /v1/runs/{run_id}/calls",
  media_type: "application/json",
  request_digest: "sha256:11",
  fields_digest: "sha256:22",
  decision: "caller 7",
  status: 200,
  correlation_id: "req_1",
};

test("the record of a call's first send stands for the text of its request too, before all else", () => {
  const { event_type: _, ...first } = begun;
  const [kept, ...rest] = expand({ ...first, event_type: "call_begun", kept_text: "{}" });
  assert.deepEqual(kept, {
    sequence: 11,
    event_id: "evt_01m3250vz8qtm74n210jtsct8v",
    event_type: "content_kept",
    occurred_at: begun.occurred_at,
    what: "request",
    digest: "sha256:aa",
    part: 0,
    parts: 1,
    text: "{}",
  });
  assert.deepEqual(rest, expand({ ...begun, sequence: 12 }));
  const [hidden] = expand({ ...first, event_type: "call_begun", kept_text: "{}", kept_digest: "sha256:bb" });
  assert.equal(hidden?.event_type === "content_kept" && hidden.digest, "sha256:bb");
});

test("the record of an end that is the answer to its request stands for the word about that request too, behind all else", () => {
  const { event_type: _, ...last } = ended;
  const events = expand({ ...last, event_type: "call_ended", asked: { ...asked, fields: "{}" } });
  assert.deepEqual(events.slice(0, 3), expand(ended));
  const { occurred_at } = ended;
  assert.deepEqual(events.slice(3), [
    {
      sequence: 18,
      event_id: "evt_01m3250vz93zzzzzzzzzzzzzzz",
      event_type: "content_kept",
      occurred_at,
      what: "fields",
      digest: "sha256:22",
      part: 0,
      parts: 1,
      text: "{}",
    },
    {
      sequence: 19,
      event_id: "evt_01m3250vz94zzzzzzzzzzzzzzz",
      event_type: "request_accepted",
      occurred_at,
      run_id: "run_1",
      call_id: "call_1",
      ...asked,
    },
  ]);
  const without = expand({ ...last, event_type: "call_ended", asked: { ...asked, fields_digest: null } });
  assert.deepEqual(
    without.slice(3).map(({ event_type, sequence }) => [event_type, sequence]),
    [["request_accepted", 18]],
  );
});

/** Any choice of the members that a record may leave out. */
const choices: fc.Arbitrary<Partial<AttemptBegun>> = fc.record(
  {
    operation_id: fc.constant("op_1"),
    version_selector: fc.constant("v1"),
    credential_label: fc.constant("acme-token"),
    authorized_by: fc.constant("ada"),
    approval_id: fc.constant("apr_1"),
    url: fc.constant("https://api.acme.example/v1/issues/9?all=1"),
    target_boundary: fc.constant("https://other.example"),
    payload_sha256: fc.constant("sha256:cc"),
    media_type: fc.constant("application/json"),
    traceparent_claimed: fc.constant("00-a-b-01"),
    kept_digest: fc.constant("sha256:dd"),
  },
  { requiredKeys: [] },
);
const ends: fc.Arbitrary<Partial<AttemptEnded>> = fc.record(
  {
    operation_id: fc.constant("op_1"),
    unobserved: fc.boolean(),
    reason: fc.constant("timeout"),
    remote_status: fc.constant(200),
    provider_request_id: fc.constant("req"),
    response_digest: fc.constant("sha256:ee"),
    streamed_bytes: fc.constant(9),
    recording_digest: fc.constantFrom(null, "sha256:ff"),
    charged_cents: fc.constant(3),
    overage_cents: fc.constant(1),
  },
  { requiredKeys: [] },
);

test("a record stands for as many events as it takes sequences, each as its table declares it and with a name of its own", () => {
  const { authorized_by: _by, approval_id: _approval, ...plain } = begun;
  const { remote_status: _s, provider_request_id: _p, response_digest: _r, charged_cents: _c, ...bare } = ended;
  fc.assert(
    fc.property(choices, ends, fc.option(fc.string(), { nil: undefined }), (some, others, text) => {
      const first = { ...plain, ...some };
      const last = { ...bare, ...others };
      const records = [
        ...[first, last],
        { ...first, event_type: "call_begun", kept_text: text ?? "" },
        { ...last, event_type: "call_ended", asked: { ...asked, ...(text === undefined ? {} : { fields: text }) } },
      ] as readonly LogRecord[];
      for (const record of records) {
        const events = expand(record);
        assert.equal(events.length, eventsIn(record));
        assert.deepEqual(
          events.map(({ sequence }) => sequence),
          events.map((_, place) => record.sequence + place),
        );
        assert.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length);
        for (const event of events) {
          assert.match(event.event_id, /^evt_[0-9a-z]{26}$/);
          assert.deepEqual(decodeRecord(JSON.stringify(event)), { kind: "event", journal: "activity", event });
        }
      }
    }),
  );
});
