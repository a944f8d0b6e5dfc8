/**
 * How a field of an event is declared: its type and who may see it, in one place. A field that no table declares is
 * secret: its value is never written, shown or exported.
 *   open    facts the gateway made itself: identifiers, times, codes, counts, digests
 *   claim   text an agent, a caller or a provider wrote: shown escaped, as a claim
 *   person  names a person: shown to the operator, left out of an export unless asked for
 *   content what was approved and what was sent, word by word: shown by `gw activity show`, never exported
 *   secret  recorded for evidence, never shown and never exported
 */
export type FieldClass = "open" | "claim" | "person" | "content" | "secret";

export type FieldKind = "text" | "integer" | "flag" | "texts" | "group" | "groups";

export interface Field<Value, Optional extends boolean = boolean> {
  readonly kind: FieldKind;
  readonly class: FieldClass;
  readonly optional: Optional;
  readonly nullable: boolean;
  readonly fields: EventShape | null;
  /** Carries the type of the value; it is never present. */
  readonly value?: Value;
}

export interface EventShape {
  readonly [name: string]: Field<unknown>;
}

type OptionalNames<S extends EventShape> = {
  [Name in keyof S]: S[Name] extends Field<unknown, true> ? Name : never;
}[keyof S];
type ValueOf<F> = F extends Field<infer Value> ? Value : never;

/** The record that a shape describes. */
export type RecordOf<S extends EventShape> = {
  readonly [Name in Exclude<keyof S, OptionalNames<S>>]: ValueOf<S[Name]>;
} & {
  readonly [Name in OptionalNames<S>]?: ValueOf<S[Name]> | undefined;
};

function leaf<Value>(kind: FieldKind, fieldClass: FieldClass): Field<Value, false> {
  return { kind, class: fieldClass, optional: false, nullable: false, fields: null };
}

function leaves(fieldClass: FieldClass) {
  return {
    text: leaf<string>("text", fieldClass),
    integer: leaf<number>("integer", fieldClass),
    flag: leaf<boolean>("flag", fieldClass),
    texts: leaf<readonly string[]>("texts", fieldClass),
  } as const;
}

export const open = leaves("open");
export const claim = leaves("claim");
export const person = leaves("person");
export const content = leaves("content");
export const secret = leaves("secret");

/** One of a few words. The record keeps any text, so that an older reader can show a newer word. */
export function oneOf<const Words extends readonly string[]>(..._words: Words): Field<Words[number], false> {
  return leaf<Words[number]>("text", "open");
}

export function optional<Value>(field: Field<Value, false>): Field<Value, true> {
  return { ...field, optional: true };
}

export function nullable<Value>(field: Field<Value, false>): Field<Value | null, false> {
  return { ...field, nullable: true };
}

export function group<const S extends EventShape>(fields: S): Field<RecordOf<S>, false> {
  return { kind: "group", class: "open", optional: false, nullable: false, fields: shapeOf(fields) };
}

export function groups<const S extends EventShape>(fields: S): Field<readonly RecordOf<S>[], false> {
  return { kind: "groups", class: "open", optional: false, nullable: false, fields: shapeOf(fields) };
}

/** Without a prototype, so that a field called `constructor` is as undeclared as any other. */
export function shapeOf(fields: EventShape): EventShape {
  return Object.assign(Object.create(null) as EventShape, fields);
}
