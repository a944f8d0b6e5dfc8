import { performance } from "node:perf_hooks";

/**
 * Loaded before a program of ours (`node --import`): each look at the clock finds two seconds gone, as if the machine were
 * slow. What takes long shows how far it is, and no test has to take long.
 */
const now = performance.now.bind(performance);
let looks = 0;
performance.now = () => now() + 2_000 * ++looks;
