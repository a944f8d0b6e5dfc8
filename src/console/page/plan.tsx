import { type Difference, diffValues } from "../../conventions/approval/diff-values.ts";
import type { PlanEffect } from "../../conventions/plan/record.ts";
import { showIdentifier, showText } from "../../kernel/display.ts";
import type { Card } from "./model.ts";
import { pairDifferences } from "./pair.ts";

/** What the provider says the plan would change, what is beside what will be. The signs tell; colour repeats them. */
export function Plan({ plan }: { readonly plan: NonNullable<Card["plan"]> }) {
  const effects = plan.effects.flatMap(({ sample }) => sample);
  return (
    <section class="plan" aria-label="What the plan changes, side by side">
      {effects.map((effect, index) => (
        <table key={index}>
          <caption>
            <b>{showIdentifier(effect.resource)}</b>{" "}
            <span class="muted">by the provider's account, because of “{showText(effect.cause)}”</span>
          </caption>
          <thead>
            <tr>
              <th scope="col">Is</th>
              <th scope="col">Will be</th>
            </tr>
          </thead>
          <tbody>
            {rowsOf(effect).map(({ gone, come }, at) => (
              <tr key={at}>
                <td>{gone !== null && <del>- {say(gone)}</del>}</td>
                <td>{come !== null && <ins>+ {say(come)}</ins>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ))}
    </section>
  );
}

function rowsOf({ previous, proposed }: PlanEffect) {
  return pairDifferences(diffValues(previous ?? undefined, proposed ?? undefined));
}

function say({ path, value }: Difference): string {
  return `${path === "" ? "" : `${path}: `}${showText(JSON.stringify(value))}`;
}
