import { existsSync, readFileSync } from "node:fs";
import { createClock } from "../../src/adapters/platform/system.ts";
import { defaults } from "../../src/kernel/defaults.ts";
import { serveGateway } from "../../src/programs/serve-gateway.ts";

/** The gateway itself, whose waits are as long as HOME.waits says (by name, in ms) while that file is there: for what is waited for in vain. */
const file = `${process.argv[2]}.waits`;
for (const name of ["hubWaitMs", "hubTurnMs"] as const) {
  const usual = defaults[name];
  const waits = (): Readonly<Record<string, number>> =>
    existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  Object.defineProperty(defaults, name, { get: () => waits()[name] ?? usual });
}
await serveGateway(createClock());
