import { createClock, systemRandom, systemSleep } from "../../../src/adapters/platform/system.ts";
import { allScopes, startReference } from "../src/start.ts";

/** A provider in a process of its own, which kills itself at the named step. It tells its parent where it is. */
const [file = "", dieAt = "", webhookUrl = ""] = process.argv.slice(2);

const reference = await startReference({
  ...{ port: 0, file, clock: createClock(), random: systemRandom, sleep: systemSleep },
  ...(webhookUrl === "" ? {} : { webhookUrl }),
  onStep: (step) => {
    if (step === dieAt) process.kill(process.pid, "SIGKILL");
  },
});
const token = await reference.issueToken({ actor: "robot", tenant: "acme", scopes: allScopes });
process.once("disconnect", () => process.exit());
process.send?.({ origin: reference.origin, token });
