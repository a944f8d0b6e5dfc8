import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { shape } from "./entries.ts";
import { NO_CEILINGS, type PolicyCeilings } from "./policy.ts";

/** How each ceiling is called on the page and on the command line, and between which numbers it lies. */
export const CEILINGS = {
  run_attempts: { name: "runAttempts", minimum: 1, maximum: defaults.runMaximumAttempts },
  run_side_effects: { name: "runSideEffects", minimum: 0, maximum: defaults.runMaximumSideEffects },
  run_seconds: { name: "runSeconds", minimum: 1, maximum: defaults.runMaximumDurationMs / 1000 },
  run_spend_cents: { name: "runSpendCents", minimum: 0, maximum: defaults.runMaximumSpendCents },
  day_spend_cents: { name: "daySpendCents", minimum: 0, maximum: defaults.runMaximumSpendCents },
} as const satisfies Readonly<
  Record<string, { readonly name: keyof PolicyCeilings; readonly minimum: number; readonly maximum: number }>
>;

export type CeilingName = keyof typeof CEILINGS;
const NAMES = Object.keys(CEILINGS) as CeilingName[];

/** Undefined where there is none to write: the member stands only where it says something. */
export function ceilingsPage(ceilings: PolicyCeilings): JsonObject | undefined {
  const set = NAMES.flatMap((name) => {
    const value = ceilings[CEILINGS[name].name];
    return value === null ? [] : [[name, value] as const];
  });
  return set.length === 0 ? undefined : Object.fromEntries(set);
}

export function readCeilings(value: JsonValue | undefined, where: string): PolicyCeilings {
  if (value === undefined) return NO_CEILINGS;
  const said = shape.members(value, where, [], NAMES);
  const read: Record<string, number> = {};
  for (const name of NAMES) {
    const { name: member, minimum, maximum } = CEILINGS[name];
    const one = said[name];
    if (one !== undefined) read[member] = shape.integer(one, `${where}/${name}`, minimum, maximum);
  }
  if (Object.keys(read).length === 0) return shape.refuse(where, "absent when it is empty");
  return { ...NO_CEILINGS, ...read };
}
