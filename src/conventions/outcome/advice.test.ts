import assert from "node:assert/strict";
import { test } from "node:test";
import { adviseAfter, type Ending } from "./advice.ts";

const endings: Readonly<Record<Ending, true>> = {
  success: true,
  error: true,
  unknown: true,
  accepted: true,
  cancel_asked: true,
  resume_asked: true,
};

test("the flag and the words never contradict each other, whatever a call came to and whatever its definition says", () => {
  for (const ending of Object.keys(endings) as Ending[]) {
    for (const allows of [true, false]) {
      const { retry_allowed, guidance } = adviseAfter(ending, allows);
      const forbids = guidance !== null && /do not (repeat|start|ask)/i.test(guidance);
      assert.equal(retry_allowed && forbids, false, ending);
      assert.equal(guidance !== null, !["success", "error"].includes(ending), ending);
      if (guidance !== null) assert.ok(forbids, `${ending} says what must not be done`);
    }
  }
});

test("only what is proven not to have happened may be made again, and only where its definition allows it", () => {
  const allowed = (Object.keys(endings) as Ending[]).filter((ending) => adviseAfter(ending, true).retry_allowed);
  assert.deepEqual(allowed, ["error"]);
  assert.equal(adviseAfter("error", false).retry_allowed, false);
});
