import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Loaded first by a gateway whose memory is looked at (SIGUSR2): what is in use behind a collection is what something holds. */
setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
process.on("SIGUSR2", () => {
  // What the first one made known to be dead goes with the second.
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  process.stdout.write(`in use ${heapUsed + external}\n`);
});
