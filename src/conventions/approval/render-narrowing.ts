import { counted, showIdentifier, showText } from "../../kernel/display.ts";
import { conditionWords } from "../grant/condition.ts";
import type { Narrowing } from "./decision.ts";

/** What somebody left of what a card asks for, in words. */
export function narrowingWords({ actions, budget, request_bytes: bytes, where = [] }: Narrowing): string {
  const parts = [
    ...(actions === null ? [] : [actions.map(showIdentifier).join(", ")]),
    ...where.map((one) => `${showIdentifier(one.action)} where ${showText(conditionWords(one))}`),
    ...(budget === null
      ? []
      : [
          `${counted(budget.attempts, "attempt")}, ${counted(budget.side_effects, "side effect")}, ${counted(budget.duration_seconds, "second")}, ${counted(budget.spend_cents, "cent")}`,
        ]),
    ...(bytes === null ? [] : [`${counted(bytes, "byte")} a request`]),
  ];
  return parts.join("; ");
}
