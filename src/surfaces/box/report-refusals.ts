import { defaults } from "../../kernel/defaults.ts";
import type { RefusalReport } from "../client/agent.ts";

/** Tells the gateway what a box was refused out here: a few at a time, and how many went by meanwhile with the next one. */
export function reportRefusals(tell: (report: RefusalReport & { readonly more: number }) => Promise<unknown>): {
  report(refusal: RefusalReport): void;
  /** Resolves once what is on its way has been told. */
  settled(): Promise<unknown>;
} {
  const open = new Set<Promise<unknown>>();
  let missed = 0;
  return {
    report(refusal) {
      if (open.size >= defaults.boxReportsAtOnce) {
        missed++;
        return;
      }
      const more = missed;
      missed = 0;
      // That it could not be told changes nothing for the tool: it was refused.
      const telling = tell({ ...refusal, more }).catch(() => {
        missed += more + 1;
      });
      open.add(telling);
      void telling.then(() => open.delete(telling));
    },
    settled: () => Promise.all(open),
  };
}
