import { Denied } from "../../kernel/failure.ts";
import type { Health } from "./health.ts";
import type { KeyFileWatch } from "./key-file.ts";
import type { DaemonSteward } from "./steward.ts";

/** Without a person. What goes wrong leaves it locked and is said, here and in its status: a person can still unlock. */
export async function unlockWithout(
  steward: DaemonSteward,
  keyFile: KeyFileWatch,
  vaultId: string,
  health: Health,
): Promise<void> {
  try {
    using serviceKey = keyFile.read(vaultId);
    if (serviceKey !== null) await steward.unlockHeadless(serviceKey);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    keyFile.refused(error);
    health.staysLocked(error.code, `${error.code}: ${error.message} The gateway stays locked: gw unlock`);
  }
}
