import { resolve } from "node:path";

/** Our own program by its absolute name, in a clone and in the package alike: what is printed can be typed anywhere. */
export const programFile = resolve(import.meta.dirname, "../../../bin/gw");
