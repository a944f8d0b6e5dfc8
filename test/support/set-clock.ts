import { readFileSync } from "node:fs";

/**
 * Loaded before the gateway (`node --import`): a machine whose date somebody sets, HOME with the seconds to add to it in HOME.clock. Only the
 * wall clock moves, as with `date --set`; what counts from the machine's start does not.
 */
const now = Date.now;
const file = `${process.argv[2]}.clock`;
Date.now = () => now() + Number(readFileSync(file, "utf8")) * 1_000;
