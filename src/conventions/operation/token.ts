/** What is remembered under an idempotency token. Its scope is one principal and one route. */
export type StoredToken =
  | { readonly kind: "in_flight"; readonly payloadDigest: string }
  | { readonly kind: "settled"; readonly payloadDigest: string; readonly settledAtMs: number };

export type TokenDecision =
  | { readonly kind: "fresh" }
  /** The same payload: the original result, and no second execution. */
  | { readonly kind: "replay" }
  | { readonly kind: "in_flight" }
  | { readonly kind: "other_payload" }
  /** Past its retention only a tombstone is left, and that refuses. */
  | { readonly kind: "retired" };

export function decideToken(
  stored: StoredToken | undefined,
  payloadDigest: string,
  nowMs: number,
  retentionMs: number,
): TokenDecision {
  if (stored === undefined) return { kind: "fresh" };
  if (stored.payloadDigest !== payloadDigest) return { kind: "other_payload" };
  if (stored.kind === "in_flight") return { kind: "in_flight" };
  return nowMs - stored.settledAtMs > retentionMs ? { kind: "retired" } : { kind: "replay" };
}
