import { showIdentifier } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Card } from "./card.ts";
import type { Narrowing } from "./decision.ts";

/**
 * What a yes takes away has to be there to take: nobody signs for less and gets more. The budget is the run's, and narrowed by whoever
 * lets it begin; a session that is widened keeps its size; a read of the gateway's own is made as it stands. `mode` is the card's.
 */
export function requireNarrowable(
  mode: string,
  card: Pick<Card, "scope" | "call"> | null,
  narrow: Narrowing | null,
): void {
  if (narrow === null) return;
  const { actions, request_bytes: size, budget, where = [] } = narrow;
  if (budget !== null && mode !== "session")
    throw cannot("The budget of a run is narrowed on the card that lets it begin, and this is another card.");
  if (size !== null && mode === "access") throw cannot("A session that is widened keeps the size of its requests.");
  if (mode === "custody" && (actions !== null || size !== null || where.length > 0))
    throw cannot("This card is for one read of the gateway's own, which is made as it stands.");
  const asked = [...(card?.scope?.actions ?? []), ...(card?.call ? [card.call.action] : [])];
  const other = where.find(({ action }) => !asked.includes(action));
  if (other !== undefined)
    throw cannot(`This card does not ask for ${showIdentifier(other.action)}: a condition on it would bound nothing.`);
}

function cannot(why: string): Denied {
  return new Denied("value_not_allowed", `${why} Nothing was decided: approve it without that, or deny it.`);
}
