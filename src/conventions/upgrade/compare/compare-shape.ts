import type { JsonValue } from "../../../kernel/json.ts";
import type { Effect } from "../meaning/classify-effect.ts";
import { choosesResources, isPaging, type Steering, steeringOf } from "../meaning/steering.ts";
import { isWiderBound, isWiderDefault } from "../meaning/widen.ts";
import type { Property, Schemas, Shape } from "../model/shape.ts";
import { type Change, type Draft, reachOf, type Surface } from "./difference.ts";

/** Where two schemas are compared, and which way their values travel. */
export interface ShapeContext {
  readonly before: Schemas;
  readonly after: Schemas;
  readonly subject: string;
  /** The component under comparison; what other components declare is compared under their own names. */
  readonly component: string | null;
  readonly inRequest: boolean;
  readonly inAnswer: boolean;
  /** The strongest effect among the operations that use it. */
  readonly effect: Effect;
  add(draft: Draft): void;
}

type Seen = Map<Shape, Set<Shape>>;
type Place = { readonly at: string; readonly name: string };

export function compareSchemas(context: ShapeContext, before: JsonValue, after: JsonValue, place: Place): void {
  walk(context, context.before.shapeOf(before), context.after.shapeOf(after), place, new Map(), true);
}

function walk(context: ShapeContext, old: Shape, next: Shape, place: Place, seen: Seen, top: boolean): void {
  const sameName = old.name !== null && old.name === next.name;
  if (sameName && !(top && context.component === old.name)) return;
  const partners = seen.get(old) ?? new Set();
  if (partners.has(next)) return;
  seen.set(old, partners.add(next));

  compareKind(context, old, next, place);
  compareValues(context, old, next, place);
  if (context.inRequest) compareFallback(context, old, next, place);
  compareBounds(context, old, next, place);
  compareProperties(context, old, next, place, seen);
  compareAdditional(context, old, next, place, seen);
  compareItems(context, old, next, place, seen);
  compareChoices(context, old, next, place, seen);
}

function emit(
  context: ShapeContext,
  place: Place,
  draft: Omit<Draft, "subject" | "at"> & { readonly at?: string },
): void {
  context.add({ ...draft, subject: context.subject, at: draft.at ?? place.at });
}

/** A request can newly do what its operation does; an answer can only newly be met. */
function reach(context: ShapeContext, name: string): Surface {
  if (isPaging(name) || !context.inRequest) return "resource_reach";
  return choosesResources(name) && reachOf(context.effect) === "resource_reach"
    ? "resource_reach"
    : reachOf(context.effect);
}

function compareKind(context: ShapeContext, old: Shape, next: Shape, place: Place): void {
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

function kindOf(shape: Shape): string {
  const type =
    shape.types.join(" or ") || (shape.properties.size > 0 ? "object" : shape.items === undefined ? "any" : "array");
  return `${type}${shape.format === null ? "" : ` (${shape.format})`}${shape.nullable ? " or null" : ""}`;
}

function compareValues(context: ShapeContext, old: Shape, next: Shape, place: Place): void {
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
      together: `${context.subject} ${place.at}`,
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
      together: `${context.subject} ${place.at}`,
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
      together: `${context.subject} ${place.at}`,
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
      together: `${context.subject} ${place.at}`,
    });
  }
}

function compareFallback(context: ShapeContext, old: Shape, next: Shape, place: Place): void {
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

function compareBounds(context: ShapeContext, old: Shape, next: Shape, place: Place): void {
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

function compareProperties(context: ShapeContext, old: Shape, next: Shape, place: Place, seen: Seen): void {
  for (const name of new Set([...old.properties.keys(), ...next.properties.keys()])) {
    const before = old.properties.get(name);
    const after = next.properties.get(name);
    const inner: Place = { at: place.at === "" ? name : `${place.at}.${name}`, name };
    if (before === undefined && after !== undefined) {
      if (!foldedIn(context, after.owner, old)) addField(context, next, after, place, inner);
    } else if (after === undefined && before !== undefined) {
      if (!foldedIn(context, before.owner, next)) removeField(context, before, place, inner);
    } else if (before !== undefined && after !== undefined) {
      compareRequired(context, name, before, after, inner);
      const elsewhere = before.owner !== null && before.owner === after.owner && before.owner !== context.component;
      if (!elsewhere) {
        walk(context, context.before.shapeOf(before.schema), context.after.shapeOf(after.schema), inner, seen, false);
      }
    }
  }
}

/** A component folded in on both sides tells its own story once, under its own name. */
function foldedIn(context: ShapeContext, owner: string | null, other: Shape): boolean {
  if (owner === null || owner === context.component) return false;
  return [...other.properties.values()].some((property) => property.owner === owner);
}

function addField(context: ShapeContext, holder: Shape, property: Property, place: Place, inner: Place): void {
  const shape = context.after.shapeOf(property.schema);
  const steering = steeringOf(inner.name, shape);
  const sent = context.inRequest && !shape.readOnly;
  const together = `${context.subject} ${place.at}`;
  const after = kindOf(shape);
  if (sent && property.required) {
    emit(context, inner, {
      surface: "request_compatibility",
      kind: "field_required",
      change: "narrows",
      says: `${inner.at} must now be sent.`,
      before: null,
      after,
      together,
    });
    return;
  }
  if (isPaging(inner.name) && holder.properties.size < 12) {
    emit(context, inner, {
      surface: "resource_reach",
      kind: "pagination_changed",
      change: "widens",
      says: `${inner.at} leads to further pages.`,
      before: null,
      after,
      together,
    });
    return;
  }
  if (!sent) {
    addAnswerField(context, inner, steering, after, together);
    return;
  }
  emit(context, inner, {
    surface: steering === "role" ? "action_reach" : reach(context, inner.name),
    kind: "field_added",
    change: "widens",
    says: `A request may now carry ${inner.at}${steering === "none" ? "" : `, which looks like ${article(steering)}`}.`,
    before: null,
    after,
    together: steering === "none" ? together : `${together} ${inner.at}`,
  });
}

function addAnswerField(
  context: ShapeContext,
  inner: Place,
  steering: Steering,
  after: string,
  together: string,
): void {
  if (steering === "token") {
    emit(context, inner, {
      surface: "credential_acceptance",
      kind: "token_returned",
      change: "widens",
      says: `The answer now holds ${inner.at}, which looks like a token or secret.`,
      before: null,
      after,
      notes: ["A pack should name it under `mints`, so that it goes to the vault and not to the agent."],
    });
    return;
  }
  emit(context, inner, {
    surface: "resource_reach",
    kind: steering === "none" ? "answer_field_added" : `${steering}_returned`,
    change: "widens",
    says:
      steering === "none"
        ? `The answer now holds ${inner.at}.`
        : `The answer now holds ${inner.at}, ${article(steering)} that a later request could use.`,
    before: null,
    after,
    together,
  });
}

function removeField(context: ShapeContext, property: Property, place: Place, inner: Place): void {
  const shape = context.before.shapeOf(property.schema);
  const sent = context.inRequest && !shape.readOnly;
  const paging = isPaging(inner.name);
  emit(context, inner, {
    surface: paging ? "resource_reach" : "request_compatibility",
    kind: paging ? "pagination_changed" : "field_removed",
    change: "narrows",
    says: sent
      ? `${inner.at} is no longer taken; a request that carries it may be refused, or it may be ignored.`
      : `The answer no longer holds ${inner.at}.`,
    before: kindOf(shape),
    after: null,
    together: `${context.subject} ${place.at}`,
  });
}

function compareRequired(context: ShapeContext, name: string, before: Property, after: Property, inner: Place): void {
  if (before.required === after.required) return;
  const owner = before.owner === after.owner ? before.owner : null;
  if (owner !== null && owner !== context.component) {
    const old = context.before.shapeOf(context.before.named(owner)).properties.get(name);
    const next = context.after.shapeOf(context.after.named(owner)).properties.get(name);
    if (old?.required !== next?.required) return;
  }
  const wider = context.inRequest && !after.required && choosesResources(name);
  const says = after.required
    ? context.inRequest
      ? `${inner.at} must now be sent.`
      : `${inner.at} is now always there.`
    : context.inRequest
      ? `${inner.at} may now be left out.`
      : `${inner.at} may now be missing.`;
  emit(context, inner, {
    surface: wider ? "resource_reach" : "request_compatibility",
    kind: after.required ? "field_required" : "field_optional",
    change: wider ? "widens" : after.required && context.inRequest ? "narrows" : "shifts",
    says,
    before: before.required ? "required" : "optional",
    after: after.required ? "required" : "optional",
  });
}

function compareAdditional(context: ShapeContext, old: Shape, next: Shape, place: Place, seen: Seen): void {
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

function compareItems(context: ShapeContext, old: Shape, next: Shape, place: Place, seen: Seen): void {
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

/** Alternatives have no order: those with one name or one content belong together, and a single leftover pair too. */
function compareChoices(context: ShapeContext, old: Shape, next: Shape, place: Place, seen: Seen): void {
  const olds = old.choices.map((schema) => ({
    shape: context.before.shapeOf(schema),
    print: context.before.fingerprint(schema),
  }));
  let news = next.choices.map((schema) => ({
    shape: context.after.shapeOf(schema),
    print: context.after.fingerprint(schema),
  }));
  const left: typeof olds = [];
  for (const choice of olds) {
    const match = news.find(({ shape, print }) =>
      choice.shape.name === null ? print === choice.print : shape.name === choice.shape.name,
    );
    if (match === undefined) left.push(choice);
    else {
      news = news.filter((other) => other !== match);
      walk(context, choice.shape, match.shape, place, seen, false);
    }
  }
  const [onlyOld] = left;
  const [onlyNew] = news;
  if (left.length === 1 && news.length === 1 && onlyOld !== undefined && onlyNew !== undefined) {
    walk(context, onlyOld.shape, onlyNew.shape, place, seen, false);
    return;
  }
  for (const { shape, print } of left) {
    emit(context, place, {
      surface: "request_compatibility",
      kind: "choice_removed",
      change: "narrows",
      says: `${place.at || "It"} has one alternative less.`,
      before: shape.name ?? `${kindOf(shape)} ${print.slice(7, 15)}`,
      after: null,
    });
  }
  for (const { shape, print } of news) {
    emit(context, place, {
      surface: context.inRequest ? reach(context, place.name) : "request_compatibility",
      kind: "choice_added",
      change: context.inRequest ? "widens" : "shifts",
      says: `${place.at || "It"} has one alternative more.`,
      before: null,
      after: shape.name ?? `${kindOf(shape)} ${print.slice(7, 15)}`,
    });
  }
}

function article(steering: Steering): string {
  return steering === "identifier" ? "an identifier" : steering === "url" ? "a URL" : `a ${steering}`;
}
