import { canonicalJson, digestText } from "../../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { printClosures } from "./closure-print.ts";
import { readBounds } from "./keywords.ts";
import { sortText } from "./order.ts";
import { createPrints, PROSE } from "./print.ts";
import type { References } from "./resolve.ts";
import type { Troubles } from "./trouble.ts";

/** One schema with references followed and `allOf` folded in. Children stay raw and become shapes when asked for. */
export interface SchemaShape {
  readonly name: string | null;
  readonly types: readonly string[];
  readonly nullable: boolean;
  readonly format: string | null;
  /** Canonical JSON of each allowed value, sorted. */
  readonly values: readonly string[] | null;
  readonly fallback: string | null;
  readonly bounds: ReadonlyMap<string, string>;
  readonly properties: ReadonlyMap<string, Property>;
  readonly additional: JsonValue;
  readonly items: JsonValue | undefined;
  readonly choices: readonly JsonValue[];
  /** Whether exactly one of the choices must fit, or any number of them. Null without choices. */
  readonly choiceRule: "oneOf" | "anyOf" | null;
  readonly readOnly: boolean;
  readonly writeOnly: boolean;
}

export interface Property {
  readonly schema: JsonValue;
  readonly required: boolean;
  /** The component that declares it, which may be one folded in by `allOf`. */
  readonly owner: string | null;
}

export interface Schemas {
  readonly names: ReadonlySet<string>;
  /** The raw schema of a component. */
  named(name: string): JsonValue | undefined;
  shapeOf(schema: JsonValue | undefined): SchemaShape;
  /** Equal for schemas that say the same in any order of members; prose and examples say nothing. */
  fingerprint(value: JsonValue): string;
  /** Like the fingerprint, and covers every component that can be reached: what was decided on is exactly this. */
  contentPrint(schema: JsonValue): string;
}

const ANYTHING: SchemaShape = {
  name: null,
  types: [],
  nullable: false,
  format: null,
  values: null,
  fallback: null,
  bounds: new Map(),
  properties: new Map(),
  additional: true,
  items: undefined,
  choices: [],
  choiceRule: null,
  readOnly: false,
  writeOnly: false,
};

export function createSchemas(components: JsonObject, references: References, troubles: Troubles): Schemas {
  const shapes = new WeakMap<object, SchemaShape>();
  const folding = new Set<object>();

  const shapeOf = (schema: JsonValue | undefined): SchemaShape => {
    if (!isJsonObject(schema)) return schema === false ? { ...ANYTHING, types: ["never"] } : ANYTHING;
    const known = shapes.get(schema);
    if (known !== undefined) return known;
    const shape = build(schema);
    shapes.set(schema, shape);
    return shape;
  };

  const build = (schema: JsonObject): SchemaShape => {
    const resolved = references.follow(schema, "");
    if (resolved === undefined) return ANYTHING;
    const { node, name } = resolved;
    if (node !== schema) {
      const target = shapes.get(node) ?? build(node);
      shapes.set(node, target);
      const named = name === null ? target : { ...target, name, properties: own(target.properties, name) };
      // OpenAPI 3.1 lets members stand beside a reference; a default or a narrower enum there counts.
      const beside = Object.keys(schema).filter((member) => member !== "$ref" && !PROSE.has(member));
      return beside.length === 0 ? named : fold({ ...flat(schema), name: null }, [named]);
    }
    if (folding.has(node)) {
      troubles.add("reference_broken", node, "", "allOf leads back to the schema that holds it");
      return ANYTHING;
    }
    folding.add(node);
    const parts = list(node["allOf"]).map(shapeOf);
    folding.delete(node);
    return parts.length === 0 ? flat(node) : fold(flat(node), parts);
  };

  const prints = createPrints();
  let closures: ReadonlyMap<string, string> | undefined;
  const contentPrint = (schema: JsonValue): string => {
    const component = (name: string): JsonValue =>
      Object.hasOwn(components, name) ? (components[name] ?? true) : true;
    closures ??= printClosures(
      Object.keys(components),
      (name) => prints.references(component(name)),
      (name) => prints.schema(component(name)),
    );
    const reached = prints.references(schema).map((name) => closures?.get(name) ?? name);
    return digestText(`${prints.schema(schema)} ${reached.join()}`);
  };

  return {
    names: new Set(Object.keys(components)),
    named: (name) => (Object.hasOwn(components, name) ? components[name] : undefined),
    shapeOf,
    fingerprint: prints.schema,
    contentPrint,
  };
}

function flat(node: JsonObject): SchemaShape {
  const declared = typeof node["type"] === "string" ? [node["type"]] : list(node["type"]).filter(isText);
  const required = new Set(list(node["required"]).filter(isText));
  const properties = new Map<string, Property>();
  const members = node["properties"];
  if (isJsonObject(members)) {
    for (const name of Object.keys(members).sort()) {
      properties.set(name, { schema: members[name] ?? true, required: required.has(name), owner: null });
    }
  }
  const bounds = readBounds(node);
  // A required name that no property declares still has to be sent.
  const bare = sortText([...required].filter((name) => !properties.has(name)));
  if (bare.length > 0) bounds.set("required", bare.join(", "));
  const constant = node["const"];
  const values = constant === undefined ? (Array.isArray(node["enum"]) ? node["enum"] : null) : [constant];
  const fallback = node["default"];
  return {
    name: null,
    types: sortText(declared.filter((type) => type !== "null")),
    nullable: node["nullable"] === true || node["x-nullable"] === true || declared.includes("null"),
    format: typeof node["format"] === "string" ? node["format"] : null,
    values: values === null ? null : sortText(values.map((value: JsonValue) => canonicalJson(value))),
    fallback: fallback === undefined ? null : canonicalJson(fallback),
    bounds,
    properties,
    additional: node["additionalProperties"] ?? node["unevaluatedProperties"] ?? true,
    items: Array.isArray(node["items"]) ? undefined : node["items"],
    choices: [...list(node["oneOf"]), ...list(node["anyOf"])],
    choiceRule: list(node["oneOf"]).length > 0 ? "oneOf" : list(node["anyOf"]).length > 0 ? "anyOf" : null,
    readOnly: node["readOnly"] === true,
    writeOnly: node["writeOnly"] === true,
  };
}

function fold(base: SchemaShape, parts: readonly SchemaShape[]): SchemaShape {
  const bounds = new Map(base.bounds);
  const properties = new Map<string, Property>();
  const bare = new Set<string>();
  for (const part of [...parts, base]) {
    for (const [name, text] of part.bounds) {
      if (name === "required") for (const member of text.split(", ")) bare.add(member);
      else bounds.set(name, text);
    }
    for (const [name, property] of part.properties) {
      const before = properties.get(name);
      properties.set(name, before?.required === true ? { ...property, required: true } : property);
    }
  }
  for (const name of bare) {
    const property = properties.get(name);
    if (property !== undefined) {
      properties.set(name, { ...property, required: true });
      bare.delete(name);
    }
  }
  bounds.delete("required");
  if (bare.size > 0) bounds.set("required", sortText(bare).join(", "));
  const first = <Value>(pick: (shape: SchemaShape) => Value, empty: (value: Value) => boolean): Value =>
    [base, ...parts].map(pick).find((value) => !empty(value)) ?? pick(base);
  return {
    name: base.name,
    types: sortText([base, ...parts].flatMap((part) => part.types)),
    nullable: base.nullable || (parts.length > 0 && parts.every((part) => part.nullable)),
    format: first(
      (shape) => shape.format,
      (value) => value === null,
    ),
    values: first(
      (shape) => shape.values,
      (value) => value === null,
    ),
    fallback: first(
      (shape) => shape.fallback,
      (value) => value === null,
    ),
    bounds,
    properties: new Map([...properties].sort(([a], [b]) => (a < b ? -1 : 1))),
    additional: first(
      (shape) => shape.additional,
      (value) => value === true,
    ),
    items: first(
      (shape) => shape.items,
      (value) => value === undefined,
    ),
    choices: [base, ...parts].flatMap((part) => part.choices),
    choiceRule: first(
      (shape) => shape.choiceRule,
      (value) => value === null,
    ),
    readOnly: [base, ...parts].some((part) => part.readOnly),
    writeOnly: [base, ...parts].some((part) => part.writeOnly),
  };
}

function own(properties: SchemaShape["properties"], name: string): SchemaShape["properties"] {
  return new Map([...properties].map(([key, property]) => [key, { ...property, owner: property.owner ?? name }]));
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function isText(value: JsonValue): value is string {
  return typeof value === "string";
}
