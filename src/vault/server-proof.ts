import type { KeyObject } from "node:crypto";
import type { Secret } from "../kernel/secret.ts";
import { stateSubkey } from "./service-key.ts";
import { openStateRoot } from "./state-root.ts";
import type { VaultContent } from "./vault.ts";

export const SERVER_PROOF = "server proof";

/** With what a gateway that was unlocked before proves itself to an operator's client. It opens nothing. */
export function serverProofKey(vault: Pick<VaultContent, "vaultId" | "stateRoot">, serviceKey: Secret): KeyObject {
  using root = openStateRoot(serviceKey, vault);
  return stateSubkey(root, vault.vaultId, SERVER_PROOF);
}
