import { type Digest, digestJson } from "../../../kernel/canonical-json.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { asDifference, type Difference } from "../compare/difference.ts";

/** What exactly was reviewed: the two packs, the two documents, the probe. */
export interface Reviewed {
  readonly pack: { readonly name: string; readonly before: Digest; readonly after: Digest };
  readonly documents: { readonly before: Digest; readonly after: Digest } | null;
  readonly probe: Digest | null;
}

/**
 * The last thing that a reviewer signs: this whole change. Its id covers every digest and every difference, so that no other
 * change, and no review with a difference taken out, has the same one.
 */
export function closingDifference(reviewed: Reviewed, differences: readonly Pick<Difference, "id">[]): Difference {
  const ids = differences.map(({ id }) => id).sort();
  const { pack, documents, probe } = reviewed;
  return asDifference({
    surface: "action_reach",
    kind: "whole_review",
    change: "shifts",
    subject: `pack ${pack.name}`,
    at: "",
    says: `The whole change: ${ids.length} differences, ${documents === null ? "no documents" : "two documents"}, ${probe === null ? "no probe" : "a probe"}. It is signed last, with --finish.`,
    before: pack.before,
    after: pack.after,
    binding: digestJson({ pack, documents, probe, differences: ids } as unknown as JsonObject),
  });
}
