import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decodeRecord } from "../codec.ts";
import type { NewEvent } from "../event.ts";
import { addToBatch, type Batch, clearBatch, makeBatch, type Sequences, wipeBatch } from "./batch.ts";

const RECORD_BYTES = 4_096;
const fresh = (): Sequences => ({ activity: 0, previews: 0, sessions: 0, gateway: 0 });

function denied(id: number, reason: string): NewEvent {
  return {
    event_id: `evt_${id}`,
    event_type: "call_denied",
    occurred_at: "2026-01-01T00:00:00.000Z",
    run_id: "run_1",
    code: "not_found",
    action: "acme.report.create",
    caller: "unsigned /usr/bin/node",
    reason,
  };
}

function ended(id: number): NewEvent {
  return {
    event_id: `evt_${id}`,
    event_type: "session_ended",
    occurred_at: "2026-01-01T00:00:00.000Z",
    run_id: "run_1",
    session_id: "ses_1",
    end_reason: "process_exited",
    ended_at: "2026-01-01T00:00:00.000Z",
  };
}

/** As a reader written from the page would take it apart. */
function textsOf(batch: Batch): string[] {
  const texts: string[] = [];
  let at = 4;
  for (let left = batch.bytes.readUInt32LE(0); left > 0; left--) {
    const length = batch.bytes.readUInt32LE(at);
    texts.push(batch.bytes.toString("utf8", at + 4, at + 4 + length));
    at += 4 + length;
  }
  assert.equal(at, batch.length);
  return texts;
}

/** Of any characters; what fast-check has for that takes a second to be made ready. */
const anyText = fc
  .array(fc.nat(0x10_ffff), { maxLength: 40 })
  .map((codes) => String.fromCodePoint(...codes).toWellFormed());
const texts = fc.oneof(fc.string({ maxLength: 40 }), anyText);

test("what went into a batch is in its bytes, numbered within each journal from where it stood", () => {
  fc.assert(
    fc.property(fc.array(fc.option(texts), { maxLength: 30 }), fc.nat(2 ** 40), (reasons, before) => {
      const batch = makeBatch(65_536);
      const sequences = { ...fresh(), activity: before, sessions: 9 };
      const events = reasons.map((reason, id) => (reason === null ? ended(id) : denied(id, reason)));
      for (const event of events) assert.equal(addToBatch(batch, [event], sequences, RECORD_BYTES), true);
      const counts = { activity: before, sessions: 9 };
      const expected = events.map((event) => {
        const journal = event.event_type === "session_ended" ? "sessions" : "activity";
        return { kind: "event", journal, event: { sequence: ++counts[journal], ...event } };
      });
      assert.deepEqual(textsOf(batch).map(decodeRecord), expected);
      assert.deepEqual(
        batch.eventIds,
        events.map(({ event_id }) => event_id),
      );
      assert.equal(batch.count, events.length);
      assert.equal(sequences.activity, counts.activity);
    }),
  );
});

test("a sequence of any size is written as JSON writes it, first in the record", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.nat(20),
        fc.maxSafeNat(),
        fc.nat(15).map((power) => 10 ** power),
      ),
      (sequence) => {
        const batch = makeBatch(8_192);
        const before = { ...fresh(), activity: Math.min(sequence, Number.MAX_SAFE_INTEGER - 1) };
        addToBatch(batch, [denied(1, "")], before, RECORD_BYTES);
        assert.ok(textsOf(batch)[0]?.startsWith(`{"sequence":${before.activity},"event_id":`));
      },
    ),
  );
});

test("all events of one append get in or none does, and those that do not leave no trace", () => {
  fc.assert(
    fc.property(
      fc.array(texts, { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 64, max: 6_000 }),
      (reasons, size) => {
        const batch = makeBatch(size);
        const sequences = fresh();
        const events = reasons.map((reason, id) => denied(id, reason));
        if (addToBatch(batch, events, sequences, RECORD_BYTES)) {
          assert.equal(textsOf(batch).length, events.length);
          assert.equal(sequences.activity, events.length);
          return;
        }
        assert.deepEqual(sequences, fresh());
        assert.equal(batch.count, 0);
        assert.deepEqual(batch.eventIds, []);
        assert.ok(batch.bytes.every((byte) => byte === 0));
      },
    ),
  );
});

test("an event over the limit is refused, and the ones before it in the same append are taken back", () => {
  const batch = makeBatch(65_536);
  const sequences = fresh();
  const events = [denied(1, "short"), denied(2, "x".repeat(RECORD_BYTES))];
  assert.throws(() => addToBatch(batch, events, sequences, RECORD_BYTES), { code: "log_event_too_large" });
  assert.deepEqual(sequences, fresh());
  assert.ok(batch.bytes.every((byte) => byte === 0));
  assert.equal(addToBatch(batch, [denied(3, "after")], sequences, RECORD_BYTES), true);
  assert.equal(sequences.activity, 1);
});

test("a wiped batch holds no byte of what was in it, and is used again with a promise of its own", () => {
  const batch = makeBatch(8_192);
  const { promise } = batch.waiting;
  addToBatch(batch, [denied(1, "hunter2")], fresh(), RECORD_BYTES);
  wipeBatch(batch);
  assert.ok(batch.bytes.every((byte) => byte === 0));
  clearBatch(batch);
  assert.notEqual(batch.waiting.promise, promise);
  assert.deepEqual([batch.count, batch.length, batch.eventIds], [0, 4, []]);
});
