import { existsSync } from "node:fs";
import { defaults } from "../../src/kernel/defaults.ts";

/** The gateway itself, whose log has no room while HOME.crowded is there. */
const file = `${process.argv[2]}.crowded`;
const usual = defaults.logQueueBytes;
// Before the log is loaded, which takes this number once and compares with it each time.
const queueBytes = { valueOf: () => (existsSync(file) ? -1 : usual) };
Object.defineProperty(defaults, "logQueueBytes", { value: queueBytes });
const { createClock } = await import("../../src/adapters/platform/system.ts");
const { serveGateway } = await import("../../src/programs/serve-gateway.ts");
await serveGateway(createClock());
