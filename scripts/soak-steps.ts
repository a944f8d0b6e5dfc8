import { randomInt } from "node:crypto";
import { everyScene, pointsOf, runChain } from "../test/crash/campaign.ts";
import { judge } from "../test/crash/judge.ts";
import type { CrashPoint } from "../test/crash/life.ts";

/**
 * Kills a gateway at random moments of random scenes, five hundred times or as often as the argument says. In a random row what one life
 * left may keep a later one from its moment: it is played to its end, and counted.
 */
const rounds = Number(process.argv[2] ?? 500);
const CHAIN = 40;
const scenes = everyScene();
let missed = 0;
for (let done = 0; done < rounds; ) {
  const [scene, kills] = scenes[randomInt(scenes.length)] ?? ["read", []];
  const every = pointsOf(kills, true);
  const length = Math.min(CHAIN, rounds - done);
  const points = Array.from(
    { length },
    (): CrashPoint => every[randomInt(every.length)] ?? { step: "run.started", moment: "before" },
  );
  await runChain(scene, points, judge, () => missed++).catch((error: unknown) => {
    // Whoever looks for it plays the same row again.
    console.error(`${scene}, killed at ${JSON.stringify(points)}`);
    throw error;
  });
  done += length;
  console.log(
    `${done - missed} kills, ${missed} never came there; ${scene}: nothing lost, nothing twice, nothing left open, the log verifies`,
  );
}
