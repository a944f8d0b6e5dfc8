import { secretTexts } from "../../conventions/rollback/capability.ts";
import type { ProvenanceRecord } from "../../conventions/rollback/record.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";

/** A provider's authority over one deployment, held like a credential: shown to nobody, looked for in every answer. */
export interface HeldCapability {
  /** As the provider gave it, for the sealed row alone. */
  readonly whole: Secret;
  /** What must not come back. */
  readonly secrets: readonly Secret[];
}

export function holdCapability(capability: JsonValue, provenance: ProvenanceRecord): HeldCapability | null {
  if (capability === null) return null;
  return {
    whole: Secret.fromText(JSON.stringify(capability)),
    secrets: secretTexts(capability, provenance).map((text) => Secret.fromText(text)),
  };
}

export function wipeCapability(held: HeldCapability | null): void {
  if (held === null) return;
  for (const secret of [held.whole, ...held.secrets]) secret.wipe();
}

/** For the store, which seals every row under a key of the vault's; in no other place does it stand as text. */
export function capabilityText(held: HeldCapability | null): string | null {
  return held === null ? null : held.whole.use((bytes) => bytes.toString("utf8"));
}

/** Back from its row. */
export function readCapability(text: JsonValue | undefined, provenance: ProvenanceRecord): HeldCapability | null {
  if (text === null || text === undefined) return null;
  return holdCapability(typeof text === "string" ? (JSON.parse(text) as JsonValue) : text, provenance);
}
