import { after, before, test } from "node:test";
import { playFault } from "./hub-faults/faults.ts";
import { type FleetStand, makeFleet } from "./hub-faults/stand.ts";
import { hubSteps } from "./hub-faults/steps.ts";
import { standInAccount } from "./ssh-stand.ts";
import { findPostgres } from "./support/postgres.ts";

// Postgres refuses root, and wants its user to have a name.
standInAccount(import.meta.filename);
const programs = findPostgres();
const skip =
  programs === null ? "Debian's postgresql is not installed" : process.getuid?.() === 0 ? "root proves nothing" : false;
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 400_000 }, run);

let stand: FleetStand;
before(async () => {
  if (skip === false) stand = await makeFleet(programs ?? "");
});
after(async () => {
  if (skip === false) await stand.close();
});

/** Every fault once and every step once; all of them in all of them is `npm run soak -- hub`. */
const sample: readonly (readonly [fault: string, steps: readonly string[]])[] = [
  ["cut before the commit", ["the answer to an operator's word", "signed files", "a life of a gateway"]],
  ["cut after the commit", [...hubSteps.map(({ name }) => name)]],
  ["a crash of the server", ["the end of an effect, in the log"]],
  ["a deadlock", ["the intent of an effect, among what is under way"]],
  ["a synchronous standby is promoted", ["the intent of an effect, among what is under way"]],
  ["a lagging standby is promoted", ["what a limit counts"]],
];

for (const [fault, steps] of sample)
  for (const step of steps) real(`${fault}, in ${step}`, () => playFault(stand, fault, step));
