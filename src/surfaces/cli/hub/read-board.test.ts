import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../../kernel/json.ts";
import { detailOf } from "../watch/testing/board.ts";
import { readBoard } from "./read-board.ts";

const operation = detailOf({ operation_id: "op_01m7jvhy0sjpvca6pw435cby1t" }) as unknown as JsonObject;
const read = (...operations: readonly JsonObject[]) => readBoard({ operations: [...operations], open: 1 });

test("what a gateway sealed is a board of operations only where each of them is one", () => {
  assert.deepEqual(read(operation), [operation]);
  // An owned host would rather that a page which shows all of them falls over.
  for (const odd of [
    { state: "gone\u202e" },
    { state: {} },
    { progress: 7 },
    { problem: "dear" },
    { cancel: [] },
    { history: [null] },
    { operation_id: "op_1" },
    { gateway: "another" },
  ] as readonly JsonObject[])
    assert.equal(read(operation, { ...operation, ...odd }), undefined, JSON.stringify(odd));
  for (const content of [{}, { operations: {} }, { operations: [operation] }, { operations: [null], open: 1 }])
    assert.equal(readBoard(content as JsonObject), undefined, JSON.stringify(content));
});
