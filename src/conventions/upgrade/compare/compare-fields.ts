import { choosesResources, isPaging, type Steering, steeringOf } from "../meaning/steering.ts";
import type { Property, SchemaShape } from "../model/shape.ts";
import type { Draft } from "./difference.ts";
import { type CompareParts, emit, kindOf, type Place, reach, type ShapeContext, togetherOf } from "./shape-context.ts";

/** The members of an object: which came, which went, which became required. */
export const compareFields: CompareParts = (context, old, next, place, descend) => {
  for (const name of new Set([...old.properties.keys(), ...next.properties.keys()])) {
    const before = old.properties.get(name);
    const after = next.properties.get(name);
    const inner: Place = { at: place.at === "" ? name : `${place.at}.${name}`, name };
    if (before === undefined && after !== undefined) {
      if (!foldedIn(context, after.owner, old)) addField(context, after, place, inner);
    } else if (after === undefined && before !== undefined) {
      if (!foldedIn(context, before.owner, next)) removeField(context, before, place, inner);
    } else if (before !== undefined && after !== undefined) {
      compareRequired(context, name, before, after, inner);
      const elsewhere = before.owner !== null && before.owner === after.owner && before.owner !== context.component;
      if (!elsewhere) descend(context.before.shapeOf(before.schema), context.after.shapeOf(after.schema), inner);
    }
  }
};

/** A component folded in on both sides tells its own story once, under its own name. */
function foldedIn(context: ShapeContext, owner: string | null, other: SchemaShape): boolean {
  if (owner === null || owner === context.component) return false;
  return [...other.properties.values()].some((property) => property.owner === owner);
}

type FieldFacts = Required<Pick<Draft, "after" | "together" | "binding">>;

function addField(context: ShapeContext, property: Property, place: Place, inner: Place): void {
  const shape = context.after.shapeOf(property.schema);
  const steering = steeringOf(inner.name, shape);
  const after = kindOf(shape);
  const facts: FieldFacts = {
    after,
    together: togetherOf(context, place, inner, after),
    binding: context.after.contentPrint(property.schema),
  };
  const sent = context.inRequest && !shape.readOnly;
  if (sent && property.required) {
    emit(context, inner, {
      surface: "request_compatibility",
      kind: "field_required",
      change: "narrows",
      says: `${inner.at} must now be sent.`,
      before: null,
      ...facts,
    });
  } else if (isPaging(inner.name)) {
    emit(context, inner, {
      surface: "resource_reach",
      kind: "pagination_changed",
      change: "widens",
      says: `${inner.at} chooses or leads to further pages.`,
      before: null,
      ...facts,
    });
  } else if (sent) {
    addRequestField(context, inner, steering, facts);
  } else if (context.inAnswer && !shape.writeOnly) {
    addAnswerField(context, inner, steering, facts);
  } else {
    emit(context, inner, {
      surface: "request_compatibility",
      kind: "field_declared",
      change: "shifts",
      says: `${inner.at} is declared, and neither ${context.inRequest ? "taken by a request" : "held by an answer"}.`,
      before: null,
      ...facts,
    });
  }
}

function addRequestField(context: ShapeContext, inner: Place, steering: Steering, facts: FieldFacts): void {
  emit(context, inner, {
    surface: steering === "role" ? "action_reach" : reach(context, inner.name),
    kind: "field_added",
    change: "widens",
    says: `A request may now carry ${inner.at}${steering === "none" ? "" : `, which looks like ${article(steering)}`}.`,
    before: null,
    ...facts,
    together: steering === "none" ? facts.together : `${facts.together} ${inner.name}`,
  });
}

function addAnswerField(context: ShapeContext, inner: Place, steering: Steering, facts: FieldFacts): void {
  if (steering === "token") {
    emit(context, inner, {
      surface: "credential_acceptance",
      kind: "token_returned",
      change: "widens",
      says: `The answer now holds ${inner.at}, which looks like a token or secret.`,
      before: null,
      notes: ["A pack should name it under `mints`, so that it goes to the vault and not to the agent."],
      ...facts,
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
    ...facts,
  });
}

function removeField(context: ShapeContext, property: Property, place: Place, inner: Place): void {
  const shape = context.before.shapeOf(property.schema);
  const sent = context.inRequest && !shape.readOnly;
  const paging = isPaging(inner.name);
  const before = kindOf(shape);
  emit(context, inner, {
    surface: paging ? "resource_reach" : "request_compatibility",
    kind: paging ? "pagination_changed" : "field_removed",
    change: "narrows",
    says: sent
      ? `${inner.at} is no longer taken; a request that carries it may be refused, or it may be ignored.`
      : context.inAnswer && !shape.writeOnly
        ? `The answer no longer holds ${inner.at}.`
        : `${inner.at} is no longer declared.`,
    before,
    after: null,
    together: togetherOf(context, place, inner, before),
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
  emit(context, inner, {
    surface: wider ? "resource_reach" : "request_compatibility",
    kind: after.required ? "field_required" : "field_optional",
    change: wider ? "widens" : after.required && context.inRequest ? "narrows" : "shifts",
    says: `${inner.at} ${requiredSentence(after.required, context.inRequest)}`,
    before: before.required ? "required" : "optional",
    after: after.required ? "required" : "optional",
  });
}

function requiredSentence(required: boolean, sent: boolean): string {
  if (required) return sent ? "must now be sent." : "is now always there.";
  return sent ? "may now be left out." : "may now be missing.";
}

function article(steering: Steering): string {
  return steering === "identifier" ? "an identifier" : steering === "url" ? "a URL" : `a ${steering}`;
}
