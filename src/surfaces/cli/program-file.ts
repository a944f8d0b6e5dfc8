import { join } from "node:path";
import { installation } from "../../kernel/installation.ts";

/** Our own program by its absolute name, in a clone and in the package alike: what is printed can be typed anywhere. */
export const programFile = join(installation, "bin/gw");
