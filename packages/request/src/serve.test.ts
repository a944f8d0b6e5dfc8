import assert from "node:assert/strict";
import { test } from "node:test";
import { digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { asDenied, type Observers, type Occasion, tellRefused } from "./serve.ts";

function observe(fails = false) {
  const [records, faults] = [[] as Occasion[], [] as string[]];
  const observers = {
    onRecord: async (_record: object, occasion: Occasion) => {
      if (fails) throw new Error("the disk is full");
      records.push(occasion);
    },
    onFault: (error: unknown, id: string) => void faults.push(`${id} ${(error as Error).message}`),
  } as unknown as Observers;
  return { observers, records, faults };
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const denied = new Denied("framing_invalid", "no request");

test("bytes that never became a request are on record by size and digest, and none where none are known", async () => {
  for (const bytes of [Buffer.from("junk"), null]) {
    const { observers, records, faults } = observe();
    tellRefused(observers, null, denied, "id_1", bytes);
    await settle();
    assert.deepEqual(faults, []);
    const digest = bytes === null ? null : digestBytes(bytes);
    assert.deepEqual(
      records.map(({ body }) => body()),
      [{ digest, bytes: bytes?.length ?? 0 }],
    );
  }
});

test("a record that cannot be written is a fault that somebody hears of", async () => {
  const { observers, faults } = observe(true);
  tellRefused(observers, null, denied, "id_1", null);
  await settle();
  assert.deepEqual(faults, ["id_1 the disk is full"]);
});

test("what is no denial is told as a fault, and to whoever asked as nothing more than that", () => {
  const { observers, faults } = observe();
  assert.equal(asDenied(denied, "id_1", observers), denied);
  assert.deepEqual(faults, []);
  const told = asDenied(new Error("secret words"), "id_2", observers);
  assert.deepEqual([told.code, faults], ["internal_fault", ["id_2 secret words"]]);
  assert.ok(!told.message.includes("secret"));
});
