import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { PlanId } from "../../kernel/ids.ts";
import { createShelf, type Plan } from "./shelf.ts";

const planOf = (id: string, runId: string) => ({ id, runId }) as unknown as Plan;

/** Whether the shelf still has it. */
function has(shelf: ReturnType<typeof createShelf>, id: string): boolean {
  try {
    return shelf.find(id as PlanId, () => true).id === id;
  } catch (error) {
    if (error instanceof Denied && error.code === "not_found") return false;
    throw error;
  }
}

test("a run keeps its newest plans, and takes no room of another's", () => {
  const shelf = createShelf();
  shelf.put(planOf("other", "run_2"));
  for (let index = 0; index < defaults.plansPerRun; index++) shelf.put(planOf(`p${index}`, "run_1"));
  assert.ok(has(shelf, "p0") && has(shelf, "other"));
  shelf.put(planOf("last", "run_1"));
  assert.deepEqual(
    ["p0", "p1", "last", "other"].map((id) => has(shelf, id)),
    [false, true, true, true],
  );
});

test("of many runs those that planned longest ago are forgotten, with all their plans", () => {
  const shelf = createShelf();
  for (const id of ["a1", "a2"]) shelf.put(planOf(id, "run_a"));
  shelf.put(planOf("b1", "run_b"));
  for (let index = 2; index < defaults.runsRemembered; index++) shelf.put(planOf(`p${index}`, `run_${index}`));
  shelf.put(planOf("a3", "run_a"));
  shelf.put(planOf("new", "run_new"));
  assert.deepEqual(
    ["a1", "a2", "a3", "b1", "p2", "new"].map((id) => has(shelf, id)),
    [true, true, true, false, true, true],
  );
  shelf.put(planOf("newer", "run_newer"));
  assert.deepEqual(
    ["p2", "p3", "newer"].map((id) => has(shelf, id)),
    [false, true, true],
  );
});

test("a plan is found by whoever may use it alone", () => {
  const shelf = createShelf();
  shelf.put(planOf("p1", "run_1"));
  const notFound = (error: unknown) => error instanceof Denied && error.code === "not_found";
  assert.throws(() => shelf.find("p1" as PlanId, () => false), notFound);
  assert.throws(() => shelf.find(undefined, () => true), notFound);
});
