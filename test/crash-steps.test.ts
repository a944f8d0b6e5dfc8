import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Step, steps } from "../src/gateway/steps.ts";
import { everyScene, pointsOf, runChain } from "./crash/campaign.ts";
import { judge } from "./crash/judge.ts";
import { sampleOf } from "./support/whole.ts";

/** Of a scene in one run of the suite; each is a life of a gateway process, and the next one recovers what it left. */
const KILLS = 1;
/** Of all scenes: another half in every run. */
const SCENES = Math.ceil(everyScene().length / 2);

test("every named step of the gateway is one that a scene is killed around, and a name stands once", () => {
  const killed = everyScene().flatMap(([, kills]) => kills);
  assert.deepEqual([...killed].sort(), [...new Set<Step>(steps)].sort());
  assert.equal(new Set(steps).size, steps.length);
});

/**
 * A gateway process for every moment: SIGKILL there, a start, and whatever was open is found out. In the end the log
 * verifies, nothing that was told is lost, nothing was done twice, and nothing is left open without asking for a person.
 */
describe("kill -9 between any two steps", { concurrency: 3 }, () => {
  for (const [scene, every] of sampleOf("scenes to kill in", everyScene(), SCENES)) {
    const kills = afterSomething(sampleOf(`kills in ${scene}`, every, KILLS));
    test(`${scene}: ${kills.join(", ")}`, () => runChain(scene, pointsOf(kills), judge));
  }
});

/** A start passes the step only where an earlier death left it something to recover. */
function afterSomething(kills: readonly Step[]): readonly Step[] {
  return kills[0] === "recovery.finished" ? ["call.sent", ...kills] : kills;
}
