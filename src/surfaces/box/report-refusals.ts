import { defaults } from "../../kernel/defaults.ts";
import type { RefusalReport } from "../client/agent.ts";

/** Tells the gateway what a box was refused out here: a few at a time, and how many went by meanwhile with the next one. */
export function reportRefusals(tell: (report: RefusalReport & { readonly more: number }) => Promise<unknown>): {
  report(refusal: RefusalReport): void;
  /** Resolves once all of it has been told, the number of those that went by too. */
  settled(): Promise<void>;
} {
  const open = new Set<Promise<unknown>>();
  let missed = 0;
  let last: RefusalReport | null = null;
  const send = (refusal: RefusalReport, more: number): void => {
    // That it could not be told changes nothing for the tool: it was refused.
    const telling = tell({ ...refusal, more }).catch(() => {
      missed += more + 1;
      last ??= refusal;
    });
    open.add(telling);
    void telling.then(() => open.delete(telling));
  };
  return {
    report(refusal) {
      if (open.size >= defaults.boxReportsAtOnce) {
        missed++;
        last = refusal;
        return;
      }
      const more = missed;
      missed = 0;
      last = null;
      send(refusal, more);
    },
    async settled() {
      await Promise.all(open);
      if (last === null || missed === 0) return;
      // The last of them by name. Once: where nobody listens any more, nobody ever will.
      send(last, missed - 1);
      await Promise.all(open);
    },
  };
}
