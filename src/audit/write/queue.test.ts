import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import type { NewEvent } from "../event.ts";
import type { Batch } from "./batch.ts";
import { startQueue } from "./queue.ts";

const limits = { queueBytes: 20_000, frameBytes: 4_096, recordBytes: 2_048 };

function event(id: string, size = 10): NewEvent {
  return {
    event_id: id,
    event_type: "call_denied",
    occurred_at: "2026-01-01T00:00:00.000Z",
    run_id: "run_1",
    code: "not_found",
    action: "acme.report.create",
    caller: "x".repeat(size),
  };
}

type Step = { readonly kind: "add"; readonly sizes: readonly number[] } | { readonly kind: "take" };

const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("add" as const),
      sizes: fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("take" as const) }),
  ),
  { maxLength: 60 },
);

test("events leave in the order in which they came, those of one append in one batch", () => {
  fc.assert(
    fc.property(steps, (todo: readonly Step[]) => {
      const queue = startQueue(limits);
      const came: string[] = [];
      const left: string[] = [];
      const take = (): boolean => {
        const batch = queue.take();
        if (batch === undefined) return false;
        left.push(...batch.eventIds);
        batch.waiting.promise.catch(() => undefined);
        queue.release(batch);
        return true;
      };
      for (const [index, step] of todo.entries()) {
        if (step.kind === "take") {
          take();
          continue;
        }
        const events = step.sizes.map((size, part) => event(`${index}.${part}`, size));
        let batch: Batch;
        const room = queue.hasRoom();
        try {
          batch = queue.add(events);
        } catch (error) {
          assert.ok(error instanceof Denied && ["log_backlogged", "log_event_too_large"].includes(error.code));
          assert.equal(room, error.code !== "log_backlogged");
          continue;
        }
        came.push(...events.map(({ event_id }) => event_id));
        assert.deepEqual(
          batch.eventIds.slice(-events.length),
          events.map(({ event_id }) => event_id),
        );
      }
      while (take());
      assert.deepEqual(left, came);
      assert.equal(queue.isEmpty(), true);
    }),
  );
});

test("a queue that is full says so, may be tried again, and takes events once some have left", () => {
  const queue = startQueue({ ...limits, queueBytes: 1_000 });
  let added = 0;
  assert.throws(
    () => {
      for (; added < 1_000; added++) queue.add([event(`${added}`, 500)]);
    },
    (error) => error instanceof Denied && error.code === "log_backlogged" && error.retryAllowed === true,
  );
  assert.ok(added > 0);
  for (let batch = queue.take(); batch !== undefined; batch = queue.take()) queue.release(batch);
  assert.doesNotThrow(() => queue.add([event("again")]));
});

test("an append that no frame can hold is refused, and the next one is not", () => {
  const queue = startQueue(limits);
  const many = Array.from({ length: 6 }, (_, index) => event(`${index}`, 900));
  assert.throws(() => queue.add(many), { code: "log_event_too_large" });
  assert.throws(() => queue.add([event("huge", 3_000)]), { code: "log_event_too_large" });
  assert.equal(queue.isEmpty(), true);
  assert.deepEqual(queue.add([event("small")]).eventIds, ["small"]);
});

test("when the log fails everyone who waits is told and no record stays in memory", async () => {
  const queue = startQueue(limits);
  const flying = queue.add([event("flying")]);
  assert.equal(queue.take(), flying);
  const waiting = queue.add([event("waiting")]);
  const told = [flying, waiting].map(({ waiting: { promise } }) => promise);
  queue.reject(new Denied("log_failed", "the disk is gone"), flying);
  for (const promise of told) await assert.rejects(promise, { code: "log_failed" });
  for (const batch of [flying, waiting]) assert.ok(batch.bytes.every((byte) => byte === 0));
  assert.equal(queue.isEmpty(), true);
});
