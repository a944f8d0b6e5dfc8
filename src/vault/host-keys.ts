import type { KeyObject } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { privateKeyOf, RAW_KEY_BYTES } from "./keys.ts";

/** What a gateway drew for itself. Neither leaves its host, not even to an operator: a vault may stand on many hosts, these on one. */
export interface HostKeys {
  /** Ed25519: signs what this gateway says on a hub, and nothing else. */
  readonly identity: KeyObject;
  /** X25519: opens what was sealed for this gateway alone. */
  readonly lending: KeyObject;
}

/** Fresh ones, sealed for the state of this host. */
export function drawHostKeys(key: KeyObject, vaultId: string, random: Random): Buffer {
  using raw = Secret.take(random.bytes(2 * RAW_KEY_BYTES));
  return raw.use((bytes) => seal(key, aadOf(vaultId), bytes, random));
}

/** Undefined for what was sealed elsewhere. */
export function openHostKeys(key: KeyObject, vaultId: string, sealed: Buffer): HostKeys | undefined {
  using raw = unseal(key, aadOf(vaultId), sealed);
  return raw?.use((bytes) => ({
    identity: privateKeyOf("ed25519", bytes.subarray(0, RAW_KEY_BYTES)),
    lending: privateKeyOf("x25519", bytes.subarray(RAW_KEY_BYTES)),
  }));
}

function aadOf(vaultId: string): string {
  return canonicalJson({ format: "gw.host-keys/v1", vault_id: vaultId });
}
