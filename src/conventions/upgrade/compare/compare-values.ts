import { steeringOf } from "../meaning/steering.ts";
import { isWiderDefault } from "../meaning/widen.ts";
import { isWiderBound } from "../model/keywords.ts";
import type { SchemaShape } from "../model/shape.ts";
import type { Change } from "./difference.ts";
import { emit, kindOf, type Place, reach, type ShapeContext } from "./shape-context.ts";

/** What one value may be: its type, the list of allowed values, its default, its bounds. */
export function compareValue(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  compareValues(context, old, next, place);
  if (context.inRequest) compareFallback(context, old, next, place);
  compareBounds(context, old, next, place);
  compareOneWay(context, old, next, place);
}

/** What is only given or only taken: a field that may newly be written is as good as a new one. */
function compareOneWay(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  if (old.readOnly !== next.readOnly) {
    const opens = context.inRequest && !next.readOnly;
    emit(context, place, {
      surface: opens ? reach(context, place.name) : "request_compatibility",
      kind: opens ? "field_writable" : "read_only_changed",
      change: opens ? "widens" : context.inRequest ? "narrows" : "shifts",
      says: opens
        ? `A request may now set ${place.at || "it"}, which could only be read.`
        : `${place.at || "It"} ${next.readOnly ? "can now only be read" : "is no longer said to be only read"}.`,
      before: old.readOnly ? "read only" : "read and write",
      after: next.readOnly ? "read only" : "read and write",
    });
  }
  if (old.writeOnly !== next.writeOnly) {
    const shows = context.inAnswer && !next.writeOnly;
    const token = steeringOf(place.name, next) === "token";
    emit(context, place, {
      surface: shows ? (token ? "credential_acceptance" : "resource_reach") : "request_compatibility",
      kind: shows ? (token ? "token_returned" : "field_readable") : "write_only_changed",
      change: shows ? "widens" : context.inAnswer ? "narrows" : "shifts",
      says: shows
        ? `The answer may now hold ${place.at || "it"}, which could only be written.`
        : `${place.at || "It"} ${next.writeOnly ? "can now only be written" : "is no longer said to be only written"}.`,
      before: old.writeOnly ? "write only" : "read and write",
      after: next.writeOnly ? "write only" : "read and write",
    });
  }
}

export function compareKind(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  const before = kindOf(old);
  const after = kindOf(next);
  if (before === after) return;
  emit(context, place, {
    surface: "request_compatibility",
    kind: "type_changed",
    change: "shifts",
    says: `${place.at} has another type.`,
    before,
    after,
  });
}

function compareValues(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  if (old.values === null && next.values === null) return;
  const before = old.values?.join(", ") ?? "any value";
  const after = next.values?.join(", ") ?? "any value";
  if (before === after) return;
  const gained =
    next.values === null ? ["any value"] : next.values.filter((value) => old.values?.includes(value) === false);
  const lost =
    old.values === null ? ["any value"] : old.values.filter((value) => next.values?.includes(value) === false);
  if (steeringOf(place.name, next) === "role") {
    compareRoleNames(context, place, gained, lost, before, after);
    return;
  }
  for (const value of gained) {
    emit(context, place, {
      surface: context.inRequest ? reach(context, place.name) : "request_compatibility",
      kind: "value_added",
      change: context.inRequest ? "widens" : "shifts",
      says: context.inRequest
        ? `${place.at} now takes ${value}.`
        : `${place.at} may now be ${value}, which no reader knew.`,
      before,
      after: value,
      together: `${context.component ?? ""} ${place.name} ${value}`,
    });
  }
  for (const value of lost) {
    emit(context, place, {
      surface: "request_compatibility",
      kind: "value_removed",
      change: "narrows",
      says: `${place.at} is no longer ${value}.`,
      before: value,
      after,
      together: `${context.component ?? ""} ${place.name} ${value}`,
    });
  }
}

/** Role names say what somebody may do, so they are action reach wherever they stand. */
function compareRoleNames(
  context: ShapeContext,
  place: Place,
  gained: readonly string[],
  lost: readonly string[],
  before: string,
  after: string,
): void {
  const surface = "action_reach";
  if (gained.length === 1 && lost.length === 1) {
    emit(context, place, {
      surface,
      kind: "role_renamed",
      change: "shifts",
      says: `The role ${lost[0]} is now ${gained[0]}, or is another role under a new name.`,
      before: lost[0] ?? null,
      after: gained[0] ?? null,
    });
    return;
  }
  for (const role of gained) {
    emit(context, place, {
      surface,
      kind: "role_added",
      change: "widens",
      says: `The role ${role} exists now.`,
      before,
      after: role,
      together: `${context.component ?? ""} ${place.name} ${role}`,
    });
  }
  for (const role of lost) {
    emit(context, place, {
      surface,
      kind: "role_removed",
      change: "narrows",
      says: `The role ${role} is gone.`,
      before: role,
      after,
      together: `${context.component ?? ""} ${place.name} ${role}`,
    });
  }
}

function compareFallback(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  if (old.fallback === next.fallback) return;
  const wider = isWiderDefault(place.name, old.fallback, next.fallback);
  emit(context, place, {
    surface: reach(context, place.name),
    kind: wider ? "default_widened" : "default_changed",
    change: wider ? "widens" : "shifts",
    says: wider ? `Leaving ${place.at} out now means more.` : `Leaving ${place.at} out now means something else.`,
    before: old.fallback ?? "the provider decides",
    after: next.fallback ?? "the provider decides",
  });
}

function compareBounds(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  for (const bound of new Set([...old.bounds.keys(), ...next.bounds.keys()])) {
    const before = old.bounds.get(bound);
    const after = next.bounds.get(bound);
    if (before === after) continue;
    const wider = isWiderBound(bound, before, after);
    const widens = wider === true && context.inRequest;
    const change: Change = wider === undefined || !context.inRequest ? "shifts" : wider ? "widens" : "narrows";
    emit(context, place, {
      surface: widens ? reach(context, place.name) : "request_compatibility",
      kind: widens ? "bound_widened" : wider === false ? "bound_narrowed" : "bound_changed",
      change,
      at: `${place.at} ${bound}`,
      says: widens
        ? `${place.at} may now be larger, smaller or freer than before.`
        : `The bound ${bound} of ${place.at} changed.`,
      before: before ?? "no bound",
      after: after ?? "no bound",
    });
  }
}
