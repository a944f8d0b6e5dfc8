import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { decodeSshPublicKey, encodeSshPublicKey, writeSshPublicLine } from "../kernel/ssh-key.ts";
import { seal, unseal } from "./box.ts";
import { privateKeyOf, RAW_KEY_BYTES } from "./keys.ts";
import type { SshSigner } from "./lent.ts";
import { serviceSubkey } from "./service-key.ts";
import { signerFor } from "./ssh/signer.ts";
import type { RequestKey, VaultContent } from "./vault.ts";

/**
 * The gateway's own key: it signs requests to the hosts that pin it. Drawn at random and sealed under the service key, not
 * derived from it, so that a change of the service key does not lock us out of every host at once.
 */
export function drawRequestKey(serviceKey: Secret, vaultId: string, random: Random): RequestKey {
  const seed = random.bytes(RAW_KEY_BYTES);
  const key = privateKeyOf("ed25519", seed);
  seed.fill(0);
  const half = decodeSshPublicKey(encodeSshPublicKey(key) ?? Buffer.alloc(0));
  if (half === undefined) throw new Fault("an Ed25519 key has no form as an SSH key");
  using secret = Secret.take(key.export({ format: "der", type: "pkcs8" }));
  return sealRequestKey(serviceKey, vaultId, writeSshPublicLine(half), secret, random);
}

/** The same key under another service key. */
export function resealRequestKey(
  { vaultId, requestKey }: Pick<VaultContent, "vaultId" | "requestKey">,
  oldServiceKey: Secret,
  newServiceKey: Secret,
  random: Random,
): RequestKey | null {
  if (requestKey === null) return null;
  using secret = openRequestKey(oldServiceKey, vaultId, requestKey);
  return sealRequestKey(newServiceKey, vaultId, requestKey.publicKey, secret, random);
}

export function requestSignerOf(serviceKey: Secret, vaultId: string, requestKey: RequestKey): SshSigner {
  using secret = openRequestKey(serviceKey, vaultId, requestKey);
  return signerFor("request key", secret, requestKey.publicKey);
}

function sealRequestKey(
  serviceKey: Secret,
  vaultId: string,
  publicKey: string,
  secret: Secret,
  random: Random,
): RequestKey {
  const key = serviceSubkey(serviceKey, vaultId, "request key");
  return { publicKey, sealed: secret.use((der) => seal(key, requestKeyAad(vaultId, publicKey), der, random)) };
}

function openRequestKey(serviceKey: Secret, vaultId: string, requestKey: RequestKey): Secret {
  const key = serviceSubkey(serviceKey, vaultId, "request key");
  const secret = unseal(key, requestKeyAad(vaultId, requestKey.publicKey), requestKey.sealed);
  if (secret === undefined)
    throw new Denied("vault_tampered", "The request key in vault.json is not the one sealed there.");
  return secret;
}

function requestKeyAad(vaultId: string, publicKey: string): string {
  const where = { format: "gw.vault/v1", vault_id: vaultId, compartment: "service", label: "request key" };
  return canonicalJson({ ...where, public_key: publicKey });
}
