import { digestJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { counted } from "../../kernel/display.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { limitsRecord } from "../budget/record.ts";
import type { Condition } from "./condition.ts";
import { type Grant, type GrantCaller, inclusionWord } from "./grant.ts";
import { hoursWords } from "./hours.ts";

/** The grant as policy holds it and as commands print it. */
export function grantRecord(grant: Grant): JsonObject {
  return {
    name: grant.name,
    caller: callerRecord(grant.caller),
    actions: grant.actions,
    effects: grant.effects,
    conditions: grant.conditions.map(conditionRecord),
    includes: grant.includes.map(inclusionWord),
    limits: limitsRecord(grant.limits),
    calls_per_day: grant.callsPerDay,
    created_at: grant.createdAt,
    until: grant.until,
    hours:
      grant.hours === null
        ? null
        : { days: grant.hours.days, from_hour: grant.hours.fromHour, to_hour: grant.hours.toHour },
    ...(grant.idleDays === null ? {} : { idle_days: grant.idleDays }),
  };
}

/** A member that came later is absent where nobody uses it, so that what was signed before stays what it was. */
function callerRecord({ authority, image, command, uid }: GrantCaller): JsonObject {
  return { authority, image, ...(command === null ? {} : { command }), uid };
}

/** Tells one version of a grant from another of the same name. */
export function digestGrant(grant: Grant): string {
  return digestJson(grantRecord(grant));
}

function conditionRecord(condition: Condition): JsonObject {
  switch (condition.kind) {
    case "one_of":
      return { kind: condition.kind, input: condition.input, values: condition.values };
    case "prefix":
      return { kind: condition.kind, input: condition.input, prefix: condition.prefix };
    case "at_most":
      return { kind: condition.kind, input: condition.input, maximum: condition.maximum };
  }
}

/** Whom it lets act, in one line. */
export function callerWords({ caller: { authority, image, command, uid } }: Grant): string {
  const parts = [
    ...(authority === null ? [] : [`images that ${authority} vouches for`]),
    ...(image === null ? [] : [`the image ${image}`]),
    ...(command === null ? [] : [`the command ${command} below gw run`]),
    ...(uid === null ? [] : [`user ${uid}`]),
  ];
  return parts.join(", ");
}

/** How long and how much, in one line. */
export function boundsWords(grant: Grant): string {
  const { attempts, sideEffects, durationMs, spendCents } = grant.limits;
  const when = grant.hours === null ? "" : `, ${hoursWords(grant.hours)}`;
  const endedAfter = counted(grant.idleDays ?? defaults.grantIdleDays, "day");
  return (
    `${counted(grant.callsPerDay, "call")} a day; a run has ${counted(attempts, "attempt")}, ${counted(sideEffects, "side effect")}, ` +
    `${counted(Math.floor(durationMs / 60_000), "minute")} and ${counted(spendCents, "cent")}; until ${grant.until}${when}; ` +
    `${endedAfter} without a use ${endedAfter.endsWith("s") ? "end" : "ends"} it`
  );
}
