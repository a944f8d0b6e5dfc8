import { showIdentifier, showText } from "../../kernel/display.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { Assumption, EffectGroup, EffectRelation, PlanEffect, Validation } from "../plan/record.ts";
import type { CardPlan } from "./card.ts";
import { type Difference, diffValues } from "./diff-values.ts";
import { entry, list, quote } from "./render-line.ts";

type PlanShown = Omit<CardPlan, "arguments" | "request_digest" | "previewed_at">;

/** How the lines of a diff begin, and no others of a card. The sign tells it; a colour may repeat it. */
export const REMOVED = "      - ";
export const ADDED = "      + ";
const STAYS = "        ";

/**
 * What a plan changes, as a diff: `-` what is there, `+` what will be, one value a line under the resource it belongs
 * to. In short first, then what warns, then direct effects, what follows from them, and what cannot be undone with them.
 */
export function planLines(plan: PlanShown): readonly string[] {
  return [
    entry("in short", sayShortly(plan)),
    entry("says", "the provider; the gateway cannot check it"),
    ...plan.validation.map(validationLine),
    ...list("assumes", plan.assumptions.map(sayAssumption)),
    ...plan.effects.flatMap(groupLines),
    ...list(
      "read",
      plan.read_revisions.map(({ resource, revision }) => `${showIdentifier(resource)} at ${showIdentifier(revision)}`),
    ),
    entry("good until", `${showText(plan.expires_at)}; used once, and only if nothing it read has changed`),
    entry("plan", `${showIdentifier(plan.plan_id)}, previewed by ${showIdentifier(plan.preview_action)}`),
  ];
}

function sayShortly({ effects, validation, assumptions }: PlanShown): string {
  const counted = effects.filter(({ total }) => total > 0);
  const groups = counted.map(({ relation, total, sample }) => {
    const unseen = total > sample.length ? `, ${total - sample.length} NOT LISTED` : "";
    return `${total} ${relation}${unseen}`;
  });
  const warnings = validation.length === 0 ? [] : [`${validation.length} remark${validation.length === 1 ? "" : "s"}`];
  const needs = assumptions.filter(({ may_proceed_without }) => !may_proceed_without).length;
  const changes = groups.length === 0 ? "changes NOTHING, by its own account" : `changes ${groups.join("; ")}`;
  return [changes, ...warnings, ...(needs === 0 ? [] : [`relies on ${needs}`])].join("; ");
}

function validationLine({ severity, code, path, message, blocks_execution, repair }: Validation): string {
  const label = blocks_execution ? "BLOCKED BY" : severity === "warning" ? "WARNING" : "ERROR";
  const where = path === "" ? "" : ` at ${showIdentifier(path)}`;
  const mend = repair === null || repair === "" ? "" : `; to mend it: ${quote(repair)}`;
  return entry(label, `${showIdentifier(code)}${where}: ${quote(message)}${mend}`);
}

function sayAssumption({ dependency, assumed, may_proceed_without }: Assumption): string {
  const means = may_proceed_without ? "goes on without it" : "FAILS WITHOUT IT";
  return `${showIdentifier(dependency)}: ${quote(assumed)} (${means})`;
}

function groupLines(group: EffectGroup): readonly string[] {
  const rest = group.total - group.sample.length;
  const sampled = rest > 0 ? `, ${group.sample.length} of them listed` : "";
  return [
    entry(headingOf(group.relation), `${group.total}${sampled}`),
    ...group.sample.flatMap(effectLines),
    ...(rest > 0 ? [`    and ${rest} MORE that the provider counts and does not list here`] : []),
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

function effectLines(effect: PlanEffect): readonly string[] {
  const at = effect.revision === null ? "" : ` at ${showIdentifier(effect.revision)}`;
  const found = diffValues(held(effect.previous), held(effect.proposed));
  const changed = found.filter(({ sign }) => sign !== " ");
  const same = found.filter(({ sign }) => sign === " ");
  const left = same.length - MAX_SAME;
  return [
    `    ${verbOf(effect, changed)} ${showIdentifier(effect.resource)}${at}, because of ${quote(effect.cause)}`,
    ...changed.flatMap((one, index) => changeLines(one, changed[index - 1])),
    ...same.slice(0, MAX_SAME).map(({ path, value }) => `${STAYS}${label(path)}${show(value)}`),
    ...(left > 0
      ? [
          `${STAYS}(and ${left === 1 ? "1 more value that stays as it is" : `${left} more values that stay as they are`})`,
        ]
      : []),
    ...(effect.compensating_action === undefined
      ? []
      : [`      to make up for it: ${quote(effect.compensating_action)}`]),
  ];
}

const MAX_SAME = 5;

/** Null stands for a resource that is not there. */
function held(value: JsonValue): JsonValue | undefined {
  return value === null ? undefined : value;
}

function verbOf({ previous, proposed }: PlanEffect, changed: readonly Difference[]): string {
  if (previous === null) return proposed === null ? "touch" : "CREATE";
  if (proposed === null) return "REMOVE";
  return changed.length === 0 ? "touch" : "change";
}

function changeLines({ sign, path, value }: Difference, before: Difference | undefined): readonly string[] {
  const replaced = sign === "+" && before?.sign === "-" && before.path === path ? before.value : undefined;
  const alike = replaced !== undefined && looksAlike(replaced, value);
  const shown = `${sign === "-" ? REMOVED : ADDED}${label(path)}${show(value)}`;
  if (typeof replaced !== "string" || typeof value !== "string") return [shown];
  if (alike)
    return [shown, `${STAYS}THE TWO LOOK ALIKE: "${showIdentifier(replaced)}" becomes "${showIdentifier(value)}"`];
  const hint = sayChange(replaced, value);
  return hint === null ? [shown] : [shown, `${STAYS}that is: ${hint}`];
}

function looksAlike(one: JsonValue, other: JsonValue): boolean {
  if (typeof one !== "string" || typeof other !== "string") return false;
  return one.normalize("NFKC") === other.normalize("NFKC");
}

/** Where two long texts part. Both stand above whole; this only saves the eye the search. */
function sayChange(before: string, after: string): string | null {
  const [old, next] = [[...before], [...after]];
  if (Math.max(old.length, next.length) < LONG_TEXT) return null;
  const shorter = Math.min(old.length, next.length);
  let head = 0;
  while (head < shorter && old[head] === next[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === next.at(-1 - tail)) tail++;
  const [gone, come] = [old.slice(head, old.length - tail), next.slice(head, next.length - tail)];
  if (Math.max(gone.length, come.length) > LONG_TEXT) return null;
  return `${quote(gone.join(""))} becomes ${quote(come.join(""))}, after ${head} characters`;
}

const LONG_TEXT = 60;

function label(path: string): string {
  return path === "" ? "" : `${path}: `;
}

function show(value: JsonValue): string {
  return typeof value === "string" ? quote(value) : JSON.stringify(value);
}
