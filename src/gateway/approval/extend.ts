import { Denied } from "../../kernel/failure.ts";
import { notPending } from "./answer.ts";
import type { Approval, Question } from "./question.ts";

/** Until when a question waits that is given more time: as long as its run stands, and no longer. */
export function extendedUntil(
  { expiresBootMs }: Pick<Approval, "expiresBootMs">,
  { deadlineBootMs }: Pick<Question, "deadlineBootMs">,
  nowBootMs: number,
  ms: number,
): number {
  // One whose time is over stays over, also before anybody has looked.
  if (expiresBootMs <= nowBootMs) throw notPending();
  // Another card for nothing would only take away the first yes of two.
  if (expiresBootMs >= deadlineBootMs)
    throw new Denied(
      "run_deadline_exhausted",
      "This question waits until its run ends already, and none outlives its run. The card is as it was: decide it, or let the agent ask in a new run.",
    );
  return Math.min(deadlineBootMs, expiresBootMs + ms);
}
