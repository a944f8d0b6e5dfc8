import type { JsonValue } from "../../../kernel/json.ts";
import type { SchemaShape } from "../model/shape.ts";
import { compareChoices } from "./compare-choices.ts";
import { compareFields } from "./compare-fields.ts";
import { compareKind, compareValue } from "./compare-values.ts";
import { type Descend, emit, type Place, reach, type ShapeContext } from "./shape-context.ts";

interface Seen {
  readonly shapes: Map<SchemaShape, Set<SchemaShape>>;
  readonly names: Set<string>;
}

export function compareSchemas(context: ShapeContext, before: JsonValue, after: JsonValue, place: Place): void {
  walk(
    context,
    context.before.shapeOf(before),
    context.after.shapeOf(after),
    place,
    { shapes: new Map(), names: new Set() },
    true,
  );
}

function walk(
  context: ShapeContext,
  old: SchemaShape,
  next: SchemaShape,
  place: Place,
  seen: Seen,
  top: boolean,
): void {
  const sameName = old.name !== null && old.name === next.name;
  if (sameName && !(top && context.component === old.name)) return;
  if (seenBefore(old, next, seen)) return;

  compareKind(context, old, next, place);
  // A list that became its one element, or the reverse: the members are still worth comparing one by one.
  if (isList(old) !== isList(next) && (isList(old) ? next : old).properties.size > 0) {
    const [left, right] = isList(old)
      ? [context.before.shapeOf(old.items), next]
      : [old, context.after.shapeOf(next.items)];
    walk(context, left, right, { at: `${place.at}[]`, name: place.name }, seen, top);
    return;
  }
  compareValue(context, old, next, place);
  const descend: Descend = (left, right, inner) => walk(context, left, right, inner, seen, false);
  compareFields(context, old, next, place, descend);
  compareAdditional(context, old, next, place, seen);
  compareItems(context, old, next, place, seen);
  compareChoices(context, old, next, place, descend);
}

/** Two components are compared once, however many references lead to them; other shapes are themselves. */
function seenBefore(old: SchemaShape, next: SchemaShape, seen: Seen): boolean {
  if (old.name !== null && next.name !== null) {
    const pair = JSON.stringify([old.name, next.name]);
    if (seen.names.has(pair)) return true;
    seen.names.add(pair);
    return false;
  }
  const partners = seen.shapes.get(old) ?? new Set();
  if (partners.has(next)) return true;
  seen.shapes.set(old, partners.add(next));
  return false;
}

function compareAdditional(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place, seen: Seen): void {
  const before = openness(old.additional);
  const after = openness(next.additional);
  if (before === "listed kind" && after === "listed kind") {
    walk(
      context,
      context.before.shapeOf(old.additional),
      context.after.shapeOf(next.additional),
      { at: `${place.at}{}`, name: place.name },
      seen,
      false,
    );
    return;
  }
  if (before === after) return;
  const opens = before === "none" && context.inRequest;
  emit(context, place, {
    surface: opens ? reach(context, place.name) : "request_compatibility",
    kind: opens ? "members_opened" : "members_changed",
    change: opens ? "widens" : after === "none" ? "narrows" : "shifts",
    says: opens
      ? `${place.at || "It"} now takes members that nobody listed.`
      : `Members beyond those listed are handled differently in ${place.at || "it"}.`,
    before,
    after,
  });
}

function openness(additional: JsonValue): string {
  if (additional === false) return "none";
  return typeof additional === "object" && additional !== null && Object.keys(additional).length > 0
    ? "listed kind"
    : "any";
}

function compareItems(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place, seen: Seen): void {
  if (old.items === undefined && next.items === undefined) return;
  walk(
    context,
    context.before.shapeOf(old.items),
    context.after.shapeOf(next.items),
    { at: `${place.at}[]`, name: place.name },
    seen,
    false,
  );
}

function isList(shape: SchemaShape): boolean {
  return shape.items !== undefined;
}
