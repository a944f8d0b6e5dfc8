import type { JsonValue } from "../../../kernel/json.ts";
import type { SchemaShape } from "../model/shape.ts";
import { compareChoices } from "./compare-choices.ts";
import { compareFields } from "./compare-fields.ts";
import { compareKind, compareValue } from "./compare-values.ts";
import { type Descend, emit, type Place, reach, type ShapeContext } from "./shape-context.ts";

/** What one comparison has met: two components are told once, any other two schemas at every place that leads to them. */
interface Seen {
  readonly names: Set<string>;
  readonly pairs: Map<SchemaShape, Map<SchemaShape, Pair>>;
  /** Pairs whose knot is not closed yet: each may still lead back to one before it. */
  readonly waiting: Pair[];
  /** The pair whose parts are being looked at. */
  current: Pair | null;
  /** How many differences were told so far. */
  told: number;
  met: number;
}

interface Pair {
  readonly index: number;
  /** The earliest pair that this one leads back to. */
  earliest: number;
  told: boolean;
  knot: Knot | null;
}

/** Pairs that lead to each other, mostly a single one. Told again they are each walked once, or it would never end. */
interface Knot {
  readonly told: boolean;
  walked: Set<Pair> | null;
}

export function compareSchemas(context: ShapeContext, before: JsonValue, after: JsonValue, place: Place): void {
  const seen: Seen = { names: new Set(), pairs: new Map(), waiting: [], current: null, told: 0, met: 0 };
  const add: ShapeContext["add"] = (draft) => {
    seen.told++;
    context.add(draft);
  };
  const [old, next] = [context.before.shapeOf(before), context.after.shapeOf(after)];
  walk({ ...context, add }, old, next, place, seen, true);
}

function walk(
  context: ShapeContext,
  old: SchemaShape,
  next: SchemaShape,
  place: Place,
  seen: Seen,
  top: boolean,
): void {
  const parts = (): void => compareParts(context, old, next, place, seen, top);
  if (old.name !== null && next.name !== null) {
    if (old.name === next.name && !(top && context.component === old.name)) return;
    compareNamed(JSON.stringify([old.name, next.name]), seen, parts);
    return;
  }
  const partners = seen.pairs.get(old) ?? new Map<SchemaShape, Pair>();
  const known = partners.get(next);
  if (known !== undefined) {
    compareAgain(known, seen, parts);
    return;
  }
  const pair: Pair = { index: seen.met, earliest: seen.met++, told: false, knot: null };
  seen.pairs.set(old, partners.set(next, pair));
  compareFirst(pair, seen, parts);
}

/** However many references lead to two components, and whatever stands between them. */
function compareNamed(names: string, seen: Seen, parts: () => void): void {
  if (seen.names.has(names)) return;
  seen.names.add(names);
  const { told } = seen;
  parts();
  // It is not told again, so that it is no reason to walk again what holds it.
  seen.told = told;
}

/** Finds on the way which pairs lead to each other (Tarjan), and whether there is anything to tell of them. */
function compareFirst(pair: Pair, seen: Seen, parts: () => void): void {
  const { current: above, told } = seen;
  seen.waiting.push(pair);
  seen.current = pair;
  parts();
  seen.current = above;
  pair.told = seen.told > told;
  if (pair.earliest === pair.index) {
    const members = seen.waiting.splice(seen.waiting.lastIndexOf(pair));
    const knot: Knot = { told: members.some((one) => one.told), walked: null };
    for (const member of members) member.knot = knot;
  }
  if (above !== null) above.earliest = Math.min(above.earliest, pair.earliest);
}

/** At another place: where nothing differs nothing is walked, so that this costs as much as there is to tell. */
function compareAgain(pair: Pair, seen: Seen, parts: () => void): void {
  const { knot } = pair;
  if (knot === null) {
    if (seen.current !== null) seen.current.earliest = Math.min(seen.current.earliest, pair.index);
    return;
  }
  if (!knot.told || knot.walked?.has(pair)) return;
  const entered = knot.walked === null;
  knot.walked ??= new Set();
  knot.walked.add(pair);
  parts();
  if (entered) knot.walked = null;
}

function compareParts(
  context: ShapeContext,
  old: SchemaShape,
  next: SchemaShape,
  place: Place,
  seen: Seen,
  top: boolean,
): void {
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
