import { Denied } from "../../kernel/failure.ts";
import type { SegmentSettings } from "../audit-log.ts";
import { HASH_BYTES, MAX_RECIPIENTS } from "../frame/bodies.ts";

/** A log that nobody could read, or only by a key of the wrong kind, is refused before anything is written. */
export function checkSettings({ recipients, vaultHash, vaultGeneration }: SegmentSettings): void {
  const known = recipients.every((key) => key.type === "public" && key.asymmetricKeyType === "x25519");
  if (recipients.length === 0 || recipients.length > MAX_RECIPIENTS || !known) {
    throw new Denied(
      "log_recipients_invalid",
      `one to ${MAX_RECIPIENTS} X25519 public keys must be able to read the log`,
    );
  }
  if (vaultHash.length !== HASH_BYTES || !Number.isSafeInteger(vaultGeneration) || vaultGeneration < 0) {
    throw new Denied("log_recipients_invalid", "the vault's generation and SHA-256 must be given");
  }
}
