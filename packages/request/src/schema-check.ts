import { defaults } from "../../../src/kernel/defaults.ts";
import { formats } from "./format.ts";
import { lintPattern } from "./pattern.ts";
import { appendPointer } from "./pointer.ts";

/** What is wrong with a schema itself. `path` is a JSON Pointer into the schema. */
export interface SchemaFault {
  readonly path: string;
  readonly message: string;
}

/** Reads a schema that came as data, from a pack or a route: anything outside the subset is a fault, never ignored. */
export function checkSchema(schema: unknown): readonly SchemaFault[] {
  const faults: SchemaFault[] = [];
  visit(schema, "", 0, faults);
  return faults;
}

const TYPES = new Set(["string", "integer", "number", "boolean", "object", "array", "null"]);
const COUNTS = ["minLength", "maxLength", "minItems", "maxItems", "maxProperties"];
const KNOWN = new Set([
  ...["type", "enum", "const", "pattern", "format", "minimum", "maximum", "items", "uniqueItems", "properties"],
  ...["required", "additionalProperties", "anyOf", "title", "description", "examples", ...COUNTS],
]);

/** Which type a keyword speaks about; under another type it would silently do nothing. As a list: every part of every schema asks for all. */
const SPEAKS_OF = Object.entries<readonly string[]>({
  minLength: ["string"],
  maxLength: ["string"],
  pattern: ["string"],
  format: ["string"],
  minimum: ["integer", "number"],
  maximum: ["integer", "number"],
  items: ["array"],
  minItems: ["array"],
  maxItems: ["array"],
  uniqueItems: ["array"],
  properties: ["object"],
  required: ["object"],
  additionalProperties: ["object"],
  maxProperties: ["object"],
}).map(([name, of]) => ({ name, of }));
const BOUNDS = [
  { low: "minLength", high: "maxLength" },
  { low: "minItems", high: "maxItems" },
  { low: "minimum", high: "maximum" },
];
const NUMBERS = ["minimum", "maximum"];
const TEXTS = ["title", "description"];

function visit(schema: unknown, path: string, depth: number, faults: SchemaFault[]): void {
  const add = (name: string, message: string) =>
    faults.push({ path: name === "" ? path : appendPointer(path, name), message });
  if (!isRecord(schema)) {
    add("", "a schema is an object");
    return;
  }
  if (depth > defaults.schemaDepth) {
    add("", `nests deeper than ${defaults.schemaDepth}`);
    return;
  }
  for (const name of Object.keys(schema)) if (!KNOWN.has(name)) add(name, "is not part of the supported subset");

  const types = readTypes(schema["type"]);
  if (types === undefined) add("type", `is not one of ${[...TYPES].join(", ")}, or a list of them`);
  if (types?.length === 0 && !["enum", "const", "anyOf"].some((name) => schema[name] !== undefined)) {
    add("", "says nothing about the value: give it type, enum, const or anyOf");
  }
  for (const { name, of } of SPEAKS_OF) {
    if (schema[name] !== undefined && !of.some((type) => types?.includes(type)))
      add(name, `needs type ${of.join(" or ")}`);
  }
  for (const name of COUNTS) if (schema[name] !== undefined && !isCount(schema[name])) add(name, "is not a count");
  for (const { low, high } of BOUNDS) {
    const least = schema[low];
    const most = schema[high];
    if (typeof least === "number" && typeof most === "number" && least > most) add(low, `is more than ${high}`);
  }
  for (const name of NUMBERS) {
    if (schema[name] !== undefined && !Number.isFinite(schema[name])) add(name, "is not a number");
  }
  for (const name of TEXTS) {
    if (schema[name] !== undefined && typeof schema[name] !== "string") add(name, "is not text");
  }
  checkValues(schema, add);
  checkText(schema, add);
  visitParts(schema, path, depth, faults, add);
}

function checkValues(schema: Record<string, unknown>, add: (name: string, message: string) => void): void {
  const { enum: list, const: only, examples } = schema;
  if (list !== undefined && (!Array.isArray(list) || list.length === 0 || !list.every(isScalar))) {
    add("enum", "is not a list of strings, numbers, booleans or null");
  } else if (Array.isArray(list) && new Set(list).size !== list.length) add("enum", "names a value twice");
  if (only !== undefined && !isScalar(only)) add("const", "is not a string, number, boolean or null");
  if (list !== undefined && only !== undefined) add("const", "stands beside enum: use one of them");
  if (examples !== undefined && !Array.isArray(examples)) add("examples", "is not a list");
}

function checkText(schema: Record<string, unknown>, add: (name: string, message: string) => void): void {
  const { pattern, format, maxLength } = schema;
  if (format !== undefined && !(typeof format === "string" && Object.hasOwn(formats, format))) {
    add("format", `is not one of ${Object.keys(formats).join(", ")}`);
  }
  if (pattern === undefined) return;
  if (typeof pattern !== "string") {
    add("pattern", "is not text");
    return;
  }
  const fault = lintPattern(pattern, isCount(maxLength) ? maxLength : defaults.schemaPatternInputLength);
  if (fault !== undefined) add("pattern", fault);
}

function visitParts(
  schema: Record<string, unknown>,
  path: string,
  depth: number,
  faults: SchemaFault[],
  add: (name: string, message: string) => void,
): void {
  const { items, properties, required, additionalProperties: other, anyOf, uniqueItems } = schema;
  if (items !== undefined) visit(items, `${path}/items`, depth + 1, faults);
  if (isRecord(properties)) {
    for (const [name, member] of Object.entries(properties)) {
      visit(member, appendPointer(`${path}/properties`, name), depth + 1, faults);
    }
  } else if (properties !== undefined) add("properties", "is not an object");
  if (required !== undefined) {
    const names = Array.isArray(required) ? required : [undefined];
    if (new Set(names).size !== names.length) add("required", "names a member twice");
    for (const name of names) {
      if (typeof name !== "string") add("required", "is not a list of names");
      else if (!isRecord(properties) || !Object.hasOwn(properties, name))
        add("required", `names ${name}, which properties lacks`);
    }
  }
  if (other !== undefined && typeof other !== "boolean")
    visit(other, `${path}/additionalProperties`, depth + 1, faults);
  if (Array.isArray(anyOf) && anyOf.length > 0) {
    for (const [index, branch] of anyOf.entries()) visit(branch, `${path}/anyOf/${index}`, depth + 1, faults);
  } else if (anyOf !== undefined) add("anyOf", "is not a list of schemas");
  if (uniqueItems !== undefined && typeof uniqueItems !== "boolean") add("uniqueItems", "is not true or false");
  if (uniqueItems === true && !itemsAreScalar(items)) add("uniqueItems", "needs items of a scalar type");
}

function itemsAreScalar(items: unknown): boolean {
  if (!isRecord(items)) return false;
  if (items["enum"] !== undefined || items["const"] !== undefined) return true;
  const types = readTypes(items["type"]) ?? [];
  return types.length > 0 && !types.includes("array") && !types.includes("object");
}

/** The declared types, none when the keyword is absent, undefined when it is malformed. */
function readTypes(type: unknown): readonly string[] | undefined {
  if (type === undefined) return [];
  if (typeof type === "string") return TYPES.has(type) ? [type] : undefined;
  const list: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (list.length === 0 || new Set(list).size !== list.length) return undefined;
  return list.every((name): name is string => typeof name === "string" && TYPES.has(name)) ? list : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isScalar(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  return value === null || typeof value === "string" || typeof value === "boolean";
}
