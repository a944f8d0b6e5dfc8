import { showIdentifier, showText } from "../../kernel/display.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { Effect, EffectGroup, EffectRelation } from "../plan/record.ts";
import type { CardPlan } from "./card.ts";
import { entry, list, quote } from "./render-line.ts";

type PlanShown = Omit<CardPlan, "arguments" | "request_digest" | "previewed_at">;

/**
 * What a plan changes, as a diff: `-` what is there, `+` what will be, one value a line under the resource it belongs
 * to. Direct effects come first, then what follows from them, then what cannot be undone with them.
 */
export function planLines(plan: PlanShown): readonly string[] {
  const effects = plan.effects.reduce((sum, { total }) => sum + total, 0);
  return [
    entry("plan", `${showIdentifier(plan.plan_id)}, previewed by ${showIdentifier(plan.preview_action)}`),
    entry("good until", `${showText(plan.expires_at)}; used once, and only if nothing it read has changed`),
    entry("says", "the provider; the gateway cannot check it"),
    ...list(
      "read",
      plan.read_revisions.map(({ resource, revision }) => `${showIdentifier(resource)} at ${showIdentifier(revision)}`),
    ),
    ...list(
      "remarks",
      plan.validation.map(
        ({ severity, code, path, message }) =>
          `${severity} ${showIdentifier(code)}${path === "" ? "" : ` at ${showIdentifier(path)}`}: ${quote(message)}`,
      ),
    ),
    ...list(
      "assumes",
      plan.assumptions.map(
        ({ dependency, assumed, may_proceed_without }) =>
          `${showIdentifier(dependency)}: ${quote(assumed)} (${may_proceed_without ? "can do without" : "cannot do without"})`,
      ),
    ),
    ...(effects === 0 ? [entry("changes", "NOTHING, by its own account")] : []),
    ...plan.effects.flatMap(groupLines),
  ];
}

function groupLines(group: EffectGroup): readonly string[] {
  const shown = group.sample.length;
  const rest = group.total - shown;
  return [
    entry(headingOf(group.relation), `${group.total}`),
    ...group.sample.flatMap(effectLines),
    ...(rest > 0 ? [`    and ${rest} more that the provider counts and does not list here`] : []),
  ];
}

function headingOf(relation: EffectRelation): string {
  switch (relation) {
    case "direct":
      return "changes directly";
    case "derived":
      return "follows from that";
    case "separate":
      return "not undone with it";
  }
}

function effectLines(effect: Effect): readonly string[] {
  const at = effect.revision === null ? "" : ` at ${showIdentifier(effect.revision)}`;
  const before = leavesOf(effect.previous);
  const after = leavesOf(effect.proposed);
  const lines = [`    ${showIdentifier(effect.resource)}${at}, because of ${quote(effect.cause)}`];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [was, will] = [before.get(path), after.get(path)];
    if (was === will) {
      lines.push(`        ${path}${was}`);
      continue;
    }
    if (was !== undefined) lines.push(`      - ${path}${was}`);
    if (will !== undefined) lines.push(`      + ${path}${will}`);
  }
  if (effect.compensating_action !== undefined)
    lines.push(`      to make up for it: ${quote(effect.compensating_action)}`);
  return lines;
}

/** Each value by its path. Null stands for a resource that is not there, which has no values. */
function leavesOf(value: JsonValue): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>();
  if (value !== null) collect("", value, leaves);
  return leaves;
}

function collect(path: string, value: JsonValue, leaves: Map<string, string>): void {
  if (isJsonObject(value) && Object.keys(value).length > 0) {
    for (const [name, member] of Object.entries(value as JsonObject))
      collect(path === "" ? nameOf(name) : `${path}.${nameOf(name)}`, member, leaves);
    return;
  }
  if (Array.isArray(value) && value.length > 0) {
    value.forEach((member: JsonValue, index) => void collect(`${path}[${index}]`, member, leaves));
    return;
  }
  leaves.set(path === "" ? "" : `${path}: `, typeof value === "string" ? quote(value) : JSON.stringify(value));
}

/** A name that could read as a path or as a value stands in quotes. */
function nameOf(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? name : `"${showIdentifier(name).replaceAll('"', '\\"')}"`;
}
