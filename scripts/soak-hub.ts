import { dirname } from "node:path";
import { faults } from "../test/hub-faults/faults.ts";
import { makeFleet } from "../test/hub-faults/stand.ts";
import { hubSteps } from "../test/hub-faults/steps.ts";
import { storm } from "../test/hub-faults/storm.ts";
import { standInAccount } from "../test/ssh-stand.ts";
import { everyPostgres } from "../test/support/postgres.ts";
import { fetchPostgres } from "./suite/embedded-postgres.ts";

/**
 * `npm run soak -- hub [--minutes N] [--cells TEXT]`: with every Postgres that there is, two majors where the network allows it,
 * every fault in every step, or those whose names hold TEXT; then three gateways call for N minutes of faults (60), and
 * everything is counted at the provider and in the logs.
 */
const given = process.argv.slice(2);
// As an unprivileged user it is started once more, which takes no arguments along.
const optionOf = (name: string, standard: string): string => {
  const at = given.indexOf(`--${name}`);
  const variable = `GW_SOAK_${name.toUpperCase()}`;
  const value = at < 0 ? (process.env[variable] ?? standard) : (given[at + 1] ?? standard);
  process.env[variable] = value;
  return value;
};
const minutes = Number(optionOf("minutes", "60"));
const cells = optionOf("cells", "");
fetchPostgres();
standInAccount(import.meta.filename);

const servers = everyPostgres();
if (servers.length === 0) throw new Error("there is no Postgres: install Debian's postgresql");
for (const programs of servers) {
  console.log(`with ${dirname(programs)}`);
  const stand = await makeFleet(programs, ["web3"]);
  try {
    for (const fault of faults) {
      for (const step of hubSteps) {
        const name = `${fault.name}, in ${step.name}`;
        if (!name.includes(cells) || (fault.name === "a deadlock" && step.tables === null)) continue;
        const began = performance.now();
        const wrong = await fault.play(stand, step).then(
          () => null,
          (error: unknown) => error,
        );
        console.log(`${name}: ${((performance.now() - began) / 1_000).toFixed(1)} s`);
        if (wrong === null) continue;
        console.error(wrong);
        process.exitCode = 1;
      }
    }
    if (minutes > 0)
      console.log(JSON.stringify(await storm(stand, minutes / servers.length, (line) => console.log(line))));
  } finally {
    await stand.close();
  }
}
