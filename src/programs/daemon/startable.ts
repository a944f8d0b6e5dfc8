import { stateMigrations } from "../../adapters/store/sqlite/state-schema.ts";
import { requireKnownFormat } from "../../adapters/store/sqlite/upgrade-state.ts";
import { readMachine } from "../../surfaces/place/machine.ts";
import { readSettings } from "./settings.ts";
import { requireSocketPath } from "./socket-path.ts";

/** What refuses a start and can be seen before: nobody types a passphrase for it, and nothing in the home is touched. */
export async function requireStartable(home: string, config: string | undefined): Promise<void> {
  const { operatorSocket, agentSocket } = await readSettings(home, await readMachine(config));
  requireKnownFormat(home, stateMigrations.length);
  for (const socket of [operatorSocket, agentSocket]) requireSocketPath(socket);
}
