import type { Difference } from "../../conventions/approval/diff-values.ts";

/** One row of two columns: what goes on the left, what comes in its place on the right. */
export interface Pair {
  readonly gone: Difference | null;
  readonly come: Difference | null;
}

/** What goes and what comes at one path stand in one row; what stays is left to the words of the card. */
export function pairDifferences(found: readonly Difference[]): readonly Pair[] {
  const pairs: Pair[] = [];
  for (const [at, one] of found.entries()) {
    const before = found[at - 1];
    if (one.sign === "-") pairs.push({ gone: one, come: null });
    else if (one.sign === "+" && before?.sign === "-" && before.path === one.path)
      pairs[pairs.length - 1] = { gone: before, come: one };
    else if (one.sign === "+") pairs.push({ gone: null, come: one });
  }
  return pairs;
}
