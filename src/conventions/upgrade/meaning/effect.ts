/** What a call does to the world. The first two leave it as it was. */
export type MeantEffect = "read" | "preview" | "write" | "create" | "delete" | "send" | "purchase" | "grant" | "mint";

export interface EffectVerdict {
  readonly effect: MeantEffect;
  /** How sure we are, in a sentence for the reviewer. */
  readonly confidence: string;
  readonly evidence: readonly string[];
  /** True when the HTTP method alone would have said something milder. */
  readonly disguised: boolean;
}

export function harmless(effect: MeantEffect): boolean {
  return effect === "read" || effect === "preview";
}
