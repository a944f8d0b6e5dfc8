import { readFileSync } from "node:fs";
import { createClock } from "../../src/adapters/platform/system.ts";
import { serveGateway } from "../../src/programs/serve-gateway.ts";

/**
 * The gateway itself, on a machine whose date somebody sets: HOME with the seconds to add to it in HOME.clock. Only the wall
 * clock moves, as with `date --set`; what counts from the machine's start does not.
 */
const clock = createClock();
const file = `${process.argv[2]}.clock`;
await serveGateway({ ...clock, wallMs: () => clock.wallMs() + Number(readFileSync(file, "utf8")) * 1_000 });
