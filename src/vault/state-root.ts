import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { serviceSubkey } from "./service-key.ts";
import type { VaultContent } from "./vault.ts";

/**
 * The root of the keys that guard what the gateway keeps elsewhere. It is sealed under the service key but is not
 * derived from it, so that rows written before a change of the service key still verify after it.
 */
export function sealStateRoot(serviceKey: Secret, vaultId: string, root: Buffer, random: Random): Buffer {
  return seal(serviceSubkey(serviceKey, vaultId, "state root"), stateRootAad(vaultId), root, random);
}

export function openStateRoot(serviceKey: Secret, vault: Pick<VaultContent, "vaultId" | "stateRoot">): Secret {
  const key = serviceSubkey(serviceKey, vault.vaultId, "state root");
  const root = unseal(key, stateRootAad(vault.vaultId), vault.stateRoot);
  if (root === undefined)
    throw new Denied("vault_tampered", "The state root in vault.json is not the one sealed there.");
  return root;
}

function stateRootAad(vaultId: string): string {
  return canonicalJson({ format: "gw.vault/v1", vault_id: vaultId, compartment: "service", label: "state root" });
}
