import type { JsonValue } from "../../../kernel/json.ts";
import type { SchemaShape, Schemas } from "../model/shape.ts";
import { type CompareParts, emit, kindOf, type Place, reach, type ShapeContext } from "./shape-context.ts";

interface Choice {
  readonly shape: SchemaShape;
  readonly print: string;
  readonly schema: JsonValue;
}

const FIELDS = 30;

/**
 * Alternatives have no order. Those with one name or one content belong together, then those that share the most fields, so
 * that what changed inside one is told field by field; what has no partner is shown by its fields.
 */
export const compareChoices: CompareParts = (context, old, next, place, descend) => {
  compareRule(context, old, next, place);
  let news = choicesOf(context.after, next);
  let left: Choice[] = [];
  for (const choice of choicesOf(context.before, old)) {
    const match = news.find(({ shape, print }) =>
      choice.shape.name === null ? print === choice.print : shape.name === choice.shape.name,
    );
    if (match === undefined) left.push(choice);
    else {
      news = news.filter((other) => other !== match);
      descend(choice.shape, match.shape, place);
    }
  }
  for (const [one, other] of pairUp(left, news)) {
    left = left.filter((choice) => choice !== one);
    news = news.filter((choice) => choice !== other);
    descend(one.shape, other.shape, place);
  }
  for (const { shape } of left) {
    emit(context, place, {
      surface: "request_compatibility",
      kind: "choice_removed",
      change: "narrows",
      says: `${place.at || "It"} has one alternative less.`,
      before: describe(shape),
      after: null,
    });
  }
  for (const { shape, schema } of news) {
    emit(context, place, {
      surface: context.inRequest ? reach(context, place.name) : "request_compatibility",
      kind: "choice_added",
      change: context.inRequest ? "widens" : "shifts",
      says: `${place.at || "It"} has one alternative more.`,
      before: null,
      after: describe(shape),
      binding: context.after.contentPrint(schema),
    });
  }
};

/** Exactly one of several, or any of them: with anyOf a request may carry what two alternatives take. */
function compareRule(context: ShapeContext, old: SchemaShape, next: SchemaShape, place: Place): void {
  if (old.choiceRule === null || next.choiceRule === null || old.choiceRule === next.choiceRule) return;
  const opens = next.choiceRule === "anyOf";
  emit(context, place, {
    surface: opens && context.inRequest ? reach(context, place.name) : "request_compatibility",
    kind: "choice_rule_changed",
    change: !context.inRequest ? "shifts" : opens ? "widens" : "narrows",
    says: opens
      ? `${place.at || "It"} may now fit several alternatives at once.`
      : `${place.at || "It"} must now fit exactly one alternative.`,
    before: old.choiceRule,
    after: next.choiceRule,
  });
}

function choicesOf(schemas: Schemas, { choices }: SchemaShape): readonly Choice[] {
  return choices.map((schema) => ({ shape: schemas.shapeOf(schema), print: schemas.fingerprint(schema), schema }));
}

/** The best partners first; a single leftover on each side belongs together whatever it shares. */
function pairUp(olds: readonly Choice[], news: readonly Choice[]): readonly (readonly [Choice, Choice])[] {
  const [onlyOld, onlyNew] = [olds[0], news[0]];
  if (olds.length === 1 && news.length === 1 && onlyOld !== undefined && onlyNew !== undefined)
    return [[onlyOld, onlyNew]];
  if (olds.length * news.length > 2_500) return [];
  const scored = olds
    .flatMap((one) => news.map((other) => ({ one, other, score: likeness(one.shape, other.shape) })))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.one.print + a.other.print < b.one.print + b.other.print ? -1 : 1));
  const taken = new Set<Choice>();
  return scored.flatMap(({ one, other }) => {
    if (taken.has(one) || taken.has(other)) return [];
    taken.add(one).add(other);
    return [[one, other] as const];
  });
}

function likeness(old: SchemaShape, next: SchemaShape): number {
  const shared = [...old.properties.keys()].filter((name) => next.properties.has(name)).length;
  return shared === 0 ? 0 : shared / Math.max(old.properties.size, next.properties.size);
}

function describe(shape: SchemaShape): string {
  const fields = [...shape.properties].map(([name, { required }]) => (required ? name : `${name}?`));
  const more = fields.length > FIELDS ? `, and ${fields.length - FIELDS} more` : "";
  const body = fields.length === 0 ? kindOf(shape) : `{ ${fields.slice(0, FIELDS).join(", ")}${more} }`;
  return shape.name === null ? body : `${shape.name} ${body}`;
}
