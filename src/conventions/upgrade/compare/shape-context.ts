import type { MeantEffect } from "../meaning/effect.ts";
import { choosesResources, isPaging } from "../meaning/steering.ts";
import type { Api } from "../model/api.ts";
import type { SchemaShape, Schemas } from "../model/shape.ts";
import { type Draft, reachOf, type Surface } from "./difference.ts";

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
  readonly effect: MeantEffect;
  add(draft: Draft): void;
}

/** Where in the subject, and the name of the field there, which says what it is for. */
export type Place = { readonly at: string; readonly name: string };

export function emit(
  context: ShapeContext,
  place: Place,
  draft: Omit<Draft, "subject" | "at"> & { readonly at?: string },
): void {
  context.add({ ...draft, subject: context.subject, at: draft.at ?? place.at });
}

/** The same for what is about the operation itself and names its own place. */
export function emitFor(context: ShapeContext, draft: Omit<Draft, "subject">): void {
  context.add({ ...draft, subject: context.subject });
}

/** A request can newly do what its operation does; an answer can only newly be met. */
export function reach(context: ShapeContext, name: string): Surface {
  if (isPaging(name) || !context.inRequest) return "resource_reach";
  return choosesResources(name) && reachOf(context.effect) === "resource_reach"
    ? "resource_reach"
    : reachOf(context.effect);
}

/** Inline schemas repeat one change in many operations; a component tells it once, by its own place. */
export function togetherOf(context: ShapeContext, place: Place, inner: Place, kind: string): string {
  return context.component === null ? `${inner.name} ${kind}` : `${context.subject} ${place.at}`;
}

export function kindOf(shape: SchemaShape): string {
  const type =
    shape.types.join(" or ") || (shape.properties.size > 0 ? "object" : shape.items === undefined ? "any" : "array");
  return `${type}${shape.format === null ? "" : ` (${shape.format})`}${shape.nullable ? " or null" : ""}`;
}

export function createContext(
  before: Api,
  after: Api,
  subject: string,
  effect: MeantEffect,
  add: (draft: Draft) => void,
): ShapeContext {
  return {
    before: before.schemas,
    after: after.schemas,
    subject,
    component: null,
    inRequest: false,
    inAnswer: false,
    effect,
    add,
  };
}

/** Goes on with a pair of shapes below, at their own place. */
export type Descend = (old: SchemaShape, next: SchemaShape, place: Place) => void;

/** Compares what two shapes consist of. */
export type CompareParts = (
  context: ShapeContext,
  old: SchemaShape,
  next: SchemaShape,
  place: Place,
  descend: Descend,
) => void;
