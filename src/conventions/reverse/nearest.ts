import type { Pack } from "../action/pack.ts";
import type { Miss } from "./plain.ts";

/** The action whose path goes along with this one farthest, for a person who wonders what there is. */
export function nearestByPath(packs: readonly Pack[], method: string, path: string): Miss | null {
  const asked = path.split("/").slice(1);
  let best: { readonly miss: Miss; readonly score: number } | null = null;
  for (const pack of packs) {
    for (const action of pack.actions.values()) {
      if (action.kind !== "http") continue;
      const { segments, text } = action.template;
      const along = segments.findIndex((one, at) => one.kind === "literal" && one.text !== asked[at]);
      const shared = Math.min(along < 0 ? segments.length : along, asked.length);
      const score = shared * 4 + (segments.length === asked.length ? 2 : 0) + (action.method === method ? 1 : 0);
      if (shared === 0 || (best !== null && score <= best.score)) continue;
      best = { score, miss: { action: action.qualifiedName, why: `its path is ${action.method} ${text}`, depth: 0 } };
    }
  }
  return best?.miss ?? null;
}
