import { lintPattern } from "../../../../packages/request/src/pattern.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../../kernel/json.ts";
import type { SchemaShape, Schemas } from "../../upgrade/model/shape.ts";
import { isPlainNumber, isReadable } from "./write-flow.ts";

/** A schema in the pack's subset with what was loosened on the way, or why it has no place there. */
export type DraftedSchema =
  | { readonly kind: "fits"; readonly schema: JsonObject; readonly notes: readonly string[] }
  | { readonly kind: "unfit"; readonly why: string };

const SCALARS = ["string", "integer", "number", "boolean"];
const FORMATS = new Set(["date", "date-time", "uuid"]);

/** How the walk stands: whether the place can carry a null at all, how deep it is, and how many parts may still come. */
interface Walk {
  readonly nulls: boolean;
  readonly depth: number;
  /** One for the whole walk: schemas that refer to each other multiply with every level. */
  readonly room: { left: number };
}

/** `nulls` is for JSON; a path, query, header or form has no null. */
export function draftSchema(schemas: Schemas, schema: JsonValue | undefined, nulls: boolean): DraftedSchema {
  const room = { left: defaults.packDraftParts };
  const drafted = draftPart(schemas, schema, { nulls, depth: 0, room });
  return room.left < 0 ? unfit(`it has more than ${defaults.packDraftParts} parts`) : drafted;
}

function draftPart(schemas: Schemas, schema: JsonValue | undefined, walk: Walk): DraftedSchema {
  const { nulls, depth, room } = walk;
  if (room.left < 0 || --room.left < 0) return unfit("it has too many parts");
  const shape = schemas.shapeOf(schema);
  if (depth > defaults.packDraftDepth) return unfit(`it nests deeper than ${defaults.packDraftDepth}`);
  if (shape.choices.length > 0) return draftChoices(schemas, shape, walk);
  if (shape.values !== null) return draftValues(shape, nulls);
  const types = typesOf(shape);
  const [only] = types;
  if (only === undefined) return unfit("the document does not say its type");
  if (only === "object" && types.length === 1) return draftObject(schemas, shape, walk);
  if (only === "array" && types.length === 1) return draftArray(schemas, shape, walk);
  const odd = types.find((type) => !SCALARS.includes(type));
  return odd === undefined ? draftScalar(shape, types, nulls) : unfit(`its type is ${odd}`);
}

function draftScalar(shape: SchemaShape, types: readonly string[], nulls: boolean): DraftedSchema {
  if (shape.format === "binary" || shape.format === "byte") return unfit("it holds a file's bytes");
  const notes: string[] = [];
  const schema: Record<string, JsonValue> = { type: typeMember(types, shape, nulls) };
  if (types.includes("string")) draftText(shape, schema, notes);
  if (types.includes("integer") || types.includes("number")) draftNumber(shape, types, schema, notes);
  return { kind: "fits", schema, notes };
}

function draftText(shape: SchemaShape, schema: Record<string, JsonValue>, notes: string[]): void {
  if (shape.format !== null && FORMATS.has(shape.format)) schema["format"] = shape.format;
  if (shape.format === "password") notes.push("it is a secret; a vault credential may be the better place");
  const least = countOf(shape, "minLength");
  const most = countOf(shape, "maxLength") ?? Math.max(defaults.packDraftTextLength, least ?? 0);
  if (least !== undefined && least > 0 && least <= most) schema["minLength"] = least;
  schema["maxLength"] = most;
  const pattern = boundOf(shape, "pattern");
  if (typeof pattern !== "string") return;
  const trouble = isReadable(pattern) ? lintPattern(pattern, most) : "holds hidden characters";
  if (trouble === undefined) schema["pattern"] = pattern;
  else notes.push(`its pattern is dropped, for it ${trouble}`);
}

function draftNumber(
  shape: SchemaShape,
  types: readonly string[],
  schema: Record<string, JsonValue>,
  notes: string[],
): void {
  const whole = !types.includes("number");
  const limit = (name: "minimum" | "maximum", exclusive: string, step: number): number | undefined => {
    const open = boundOf(shape, exclusive);
    if (typeof open === "number") {
      if (whole && Number.isInteger(open)) return open + step;
      notes.push(`its ${exclusive} ${open} is dropped`);
    }
    const closed = boundOf(shape, name);
    return typeof closed === "number" ? closed : undefined;
  };
  const least = limit("minimum", "exclusiveMinimum", 1);
  const most = limit("maximum", "exclusiveMaximum", -1);
  if (least !== undefined && most !== undefined && least > most) {
    notes.push("its bounds contradict each other and are dropped");
    return;
  }
  if (least !== undefined && isPlainNumber(least)) schema["minimum"] = least;
  if (most !== undefined && isPlainNumber(most)) schema["maximum"] = most;
}

function draftValues(shape: SchemaShape, nulls: boolean): DraftedSchema {
  const values = (shape.values ?? []).map((text): unknown => JSON.parse(text));
  const scalars = values.filter(isScalar).filter((value) => value !== null || nulls);
  if (values.length === 0 || !values.every(isScalar)) return unfit("its values are not text, numbers or booleans");
  if (scalars.length > defaults.packDraftValues) return unfit(`it lists ${scalars.length} values`);
  if (!scalars.every((value) => (typeof value === "string" ? isReadable(value) : true)))
    return unfit("one of its values holds hidden characters");
  if (!scalars.every((value) => typeof value !== "number" || isPlainNumber(value)))
    return unfit("one of its values is a number without a plain spelling");
  if (shape.nullable && nulls && !scalars.includes(null)) scalars.push(null);
  return scalars.length === 0
    ? unfit("null is its only value")
    : { kind: "fits", schema: { enum: scalars }, notes: [] };
}

function draftArray(schemas: Schemas, shape: SchemaShape, walk: Walk): DraftedSchema {
  const { nulls } = walk;
  const items = draftPart(schemas, shape.items, deeper(walk));
  if (items.kind === "unfit") return unfit(`its elements do not fit: ${items.why}`);
  const schema: Record<string, JsonValue> = { type: typeMember(["array"], shape, nulls), items: items.schema };
  const least = countOf(shape, "minItems");
  const most = countOf(shape, "maxItems") ?? Math.max(defaults.packDraftItems, least ?? 0);
  if (least !== undefined && least > 0 && least <= most) schema["minItems"] = least;
  schema["maxItems"] = most;
  const scalar = items.schema["enum"] !== undefined || SCALARS.includes(String(items.schema["type"]));
  if (boundOf(shape, "uniqueItems") === true && scalar) schema["uniqueItems"] = true;
  return { kind: "fits", schema, notes: items.notes };
}

/** Members that fit; the others are told. An object of free members has no bounded shape and does not fit. */
function draftObject(schemas: Schemas, shape: SchemaShape, walk: Walk): DraftedSchema {
  const { nulls } = walk;
  const type = typeMember(["object"], shape, nulls);
  if (shape.bounds.has("required")) return unfit("it requires members that the document does not describe");
  if (shape.properties.size === 0) {
    if (typeof shape.additional !== "object") return unfit("it is an object of free members");
    const members = draftPart(schemas, shape.additional, deeper(walk));
    if (members.kind === "unfit") return unfit(`its members do not fit: ${members.why}`);
    const bounds = { additionalProperties: members.schema, maxProperties: defaults.packDraftItems };
    return { kind: "fits", schema: { type, ...bounds }, notes: members.notes };
  }
  const properties: [string, JsonValue][] = [];
  const required: string[] = [];
  const notes: string[] = [];
  for (const [name, property] of shape.properties) {
    if (schemas.shapeOf(property.schema).readOnly) continue;
    const member = isMemberName(name)
      ? draftPart(schemas, property.schema, deeper(walk))
      : unfit("its name cannot be written");
    if (member.kind === "unfit") {
      if (property.required) return unfit(`it requires "${name}", which does not fit: ${member.why}`);
      notes.push(`its member "${name}" is left out: ${member.why}`);
      continue;
    }
    properties.push([name, member.schema]);
    if (property.required) required.push(name);
    notes.push(...member.notes.map((note) => `"${name}": ${note}`));
  }
  if (properties.length === 0) return unfit(notes[0] ?? "it has no members that can be sent");
  const needs = required.length === 0 ? {} : { required };
  return { kind: "fits", schema: { type, ...needs, properties: Object.fromEntries(properties) }, notes };
}

function draftChoices(schemas: Schemas, shape: SchemaShape, walk: Walk): DraftedSchema {
  const { nulls } = walk;
  if (shape.properties.size > 0) return unfit("it is one of several objects with members of their own");
  const branches: JsonObject[] = [];
  const notes: string[] = [];
  for (const choice of shape.choices.slice(0, defaults.packDraftItems)) {
    const branch = draftPart(schemas, choice, deeper(walk));
    if (branch.kind === "unfit") return unfit(`one of its forms does not fit: ${branch.why}`);
    branches.push(branch.schema);
    notes.push(...branch.notes);
  }
  const [first] = branches;
  if (branches.length === 1 && first !== undefined) return { kind: "fits", schema: first, notes };
  if (shape.nullable && nulls) branches.push({ type: "null" });
  return { kind: "fits", schema: { anyOf: branches }, notes };
}

function deeper(walk: Walk): Walk {
  return { ...walk, depth: walk.depth + 1 };
}

export function isMemberName(name: string): boolean {
  return /^[!-~]{1,128}$/.test(name) && name !== "__proto__";
}

function typesOf(shape: SchemaShape): readonly string[] {
  if (shape.types.length > 0) return shape.types;
  if (shape.properties.size > 0) return ["object"];
  return shape.items === undefined ? [] : ["array"];
}

function typeMember(types: readonly string[], shape: SchemaShape, nulls: boolean): JsonValue {
  const all = shape.nullable && nulls ? [...types, "null"] : types;
  return all.length === 1 ? (all[0] ?? "string") : [...all];
}

function boundOf(shape: SchemaShape, name: string): unknown {
  const text = shape.bounds.get(name);
  return text === undefined ? undefined : JSON.parse(text);
}

function countOf(shape: SchemaShape, name: string): number | undefined {
  const value = boundOf(shape, name);
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : undefined;
}

function isScalar(value: unknown): value is string | number | boolean | null {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function unfit(why: string): DraftedSchema & { readonly kind: "unfit" } {
  return { kind: "unfit", why };
}
