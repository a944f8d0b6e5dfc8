import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateRow, StateStore } from "../../gateway/ports.ts";
import type { StateKeeper } from "../../hub/state.ts";
import type { SharedRow } from "../../hub/state-rows.ts";
import { shareStore } from "./hub-state.ts";

test("a read is not looked for on the hub when it ends, and a side effect is", async () => {
  const told: string[] = [];
  const keeper = {
    touch: (keys: readonly SharedRow[]) => told.push(...keys.map(({ id }) => `touch ${id}`)),
    put: async (rows: readonly SharedRow[]) => told.push(...rows.map(({ id }) => `put ${id}`)),
  } as unknown as StateKeeper;
  const store = { commit: async () => undefined } as unknown as StateStore;
  const guard = { hide: () => null, show: () => null };
  const shared = shareStore(store, { shares: () => true, keeper: () => keeper, worker: "log 1", guard });
  const attempt = (id: string, body: StateRow["body"], ended = false): StateRow => ({
    ...{ table: "attempts", id, runId: "run_1", state: ended ? "settled" : "sent", body },
    ...(ended ? { over: true } : {}),
  });
  await shared.commit([attempt("read", { side_effect: false })], "process");
  await shared.commit([attempt("effect", { side_effect: true })], "power");
  await shared.commit([attempt("read", {}, true)], "process");
  await shared.commit([attempt("effect", {}, true)], "process");
  // Of an earlier life: nobody here knows what it was.
  await shared.commit([attempt("old", {}, true)], "process");
  assert.deepEqual(told, ["put effect", "touch effect", "touch old"]);
});
