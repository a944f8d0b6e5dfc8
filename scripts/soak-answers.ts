import { randomInt } from "node:crypto";
import { holdAgainstNode } from "../src/adapters/transport/http/testing/hold-against-node.ts";

/**
 * A million changed, cut and split answers, or as many as the argument says, read by our parser and by Node's: whatever ours reads
 * whole, Node's reads whole and the same. It says with which number a failure is played again.
 */
const count = Number(process.argv[2] ?? 1_000_000);
const AT_ONCE = 50_000;
let seed = Number(process.env["GW_TEST_SEED"] ?? randomInt(1, 2 ** 31));
for (let done = 0; done < count; ) {
  const more = Math.min(AT_ONCE, count - done);
  const whole = holdAgainstNode(seed, more);
  console.log(`${more} answers from ${seed} on: ${whole} read whole, each as Node reads it`);
  done += more;
  seed += more;
}
