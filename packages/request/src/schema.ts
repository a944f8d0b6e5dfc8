/**
 * What a value must look like, as data: a documented subset of JSON Schema 2020-12, compiled once into plain functions.
 * It never coerces, never evaluates text, and an object refuses members it does not name unless the schema says otherwise.
 */
import type { Code } from "../../../src/kernel/codes.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Fault, type Finding } from "../../../src/kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/kernel/json.ts";
import { type Format, formats } from "./format.ts";
import { appendPointer, shortenPointer } from "./pointer.ts";
import { checkSchema } from "./schema-check.ts";

export type JsonType = "string" | "integer" | "number" | "boolean" | "object" | "array" | "null";
export type JsonScalar = string | number | boolean | null;

export interface JsonSchema {
  readonly type?: JsonType | readonly JsonType[];
  readonly enum?: readonly JsonScalar[];
  readonly const?: JsonScalar;
  /** Lengths count code points. */
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Anchored with ^ and $, and simple enough never to backtrack far: see pattern.ts. */
  readonly pattern?: string;
  readonly format?: Format;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly properties?: { readonly [name: string]: JsonSchema };
  readonly required?: readonly string[];
  /** False when absent. `true` is for compatibility alone; a schema makes the object a map. */
  readonly additionalProperties?: boolean | JsonSchema;
  readonly maxProperties?: number;
  readonly anyOf?: readonly JsonSchema[];
  readonly title?: string;
  readonly description?: string;
  readonly examples?: readonly JsonValue[];
}

/** Whether the text of an integer was a fraction or had an exponent: `1.0`, `1e2`, `-0`. The value alone no longer tells. */
export interface ValueSpelling {
  /** By the object or array that holds it and its name or index there; a whole text that is a number has no holder. */
  isFloat(holder: object | undefined, key: string | number): boolean;
}

export type SchemaCheck = (value: JsonValue, spelling?: ValueSpelling) => readonly Finding[];

/** Throws a Fault when the schema itself is outside the subset: that is a mistake of the route's author. */
export function compileSchema(schema: JsonSchema): SchemaCheck {
  const faults = checkSchema(schema);
  const first = faults[0];
  if (first !== undefined) throw new Fault(`schema ${first.path || "/"}: ${first.message}`);
  const check = compile(schema);
  return (value, spelling = plainSpelling) => {
    const report = new Report(spelling);
    check(value, "", report);
    return report.findings;
  };
}

/** As every value is that was never a text. */
export const plainSpelling: ValueSpelling = { isFloat: () => false };

/** Collects findings up to a bound, so that a hostile body cannot buy a huge answer. */
class Report {
  readonly findings: Finding[] = [];
  readonly #spelling: ValueSpelling;
  #holder: object | undefined;
  #key: string | number = "";

  constructor(spelling: ValueSpelling) {
    this.#spelling = spelling;
  }

  /** Said before each member or item is checked. A number has no members, so this still holds when its type is asked. */
  enter(holder: object, key: string | number): void {
    this.#holder = holder;
    this.#key = key;
  }

  get isFloat(): boolean {
    return this.#spelling.isFloat(this.#holder, this.#key);
  }

  /** For one alternative, whose findings may not count. */
  trial(): Report {
    const report = new Report(this.#spelling);
    report.#holder = this.#holder;
    report.#key = this.#key;
    return report;
  }

  get full(): boolean {
    return this.findings.length >= defaults.schemaFindings;
  }

  add(code: Code, path: string, message: string): void {
    if (!this.full) this.findings.push({ code, path: shortenPointer(path), message });
  }
}

type Check = (value: JsonValue, path: string, report: Report) => void;

function compile(schema: JsonSchema): Check {
  const checks: Check[] = [];
  const types = typesOf(schema);
  if (types !== undefined) checks.push(compileType(types));
  const value = compileValue(schema);
  if (value !== undefined) checks.push(value);
  const string = compileString(schema);
  if (string !== undefined) checks.push(string);
  const number = compileNumber(schema);
  if (number !== undefined) checks.push(number);
  if (types?.includes("array")) checks.push(compileArray(schema));
  if (types?.includes("object")) checks.push(compileObject(schema));
  if (schema.anyOf !== undefined) checks.push(compileAnyOf(schema.anyOf));
  return (value_, path, report) => {
    for (const check of checks) {
      const before = report.findings.length;
      check(value_, path, report);
      // The first kind of trouble explains the rest; a wrong type is not also a wrong length.
      if (report.findings.length > before || report.full) return;
    }
  };
}

function typesOf(schema: JsonSchema): readonly JsonType[] | undefined {
  if (schema.type === undefined) return undefined;
  return typeof schema.type === "string" ? [schema.type] : schema.type;
}

function compileType(types: readonly JsonType[]): Check {
  const expected = types.join(" or ");
  return (value, path, report) => {
    if (!types.some((type) => isType(type, value, report))) {
      report.add("wrong_type", path, `expected ${expected}, found ${describe(value, report)}`);
    }
  };
}

function isType(type: JsonType, value: JsonValue, report: Report): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "number":
      return typeof value === "number";
    case "integer":
      return Number.isSafeInteger(value) && !report.isFloat;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
  }
}

function describe(value: JsonValue, report: Report): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  if (typeof value !== "number") return `a ${typeof value}`;
  if (report.isFloat) return "an integer written as a fraction";
  if (Number.isInteger(value)) return Number.isSafeInteger(value) ? "an integer" : "an integer outside ±(2^53−1)";
  return "a fraction";
}

function compileValue(schema: JsonSchema): Check | undefined {
  if (schema.const !== undefined) {
    const only = schema.const;
    return (value, path, report) => {
      if (value !== only) report.add("value_not_allowed", path, `expected ${JSON.stringify(only)}`);
    };
  }
  if (schema.enum === undefined) return undefined;
  const allowed = new Set<JsonValue>(schema.enum);
  const expected = schema.enum.map((item) => JSON.stringify(item)).join(", ");
  return (value, path, report) => {
    if (!allowed.has(value)) report.add("value_not_allowed", path, `expected one of ${expected}`);
  };
}

function compileString(schema: JsonSchema): Check | undefined {
  const { minLength = 0, maxLength, pattern, format } = schema;
  if (minLength === 0 && maxLength === undefined && pattern === undefined && format === undefined) return undefined;
  const most = maxLength ?? (pattern === undefined ? Number.POSITIVE_INFINITY : defaults.schemaPatternInputLength);
  const expression = pattern === undefined ? undefined : new RegExp(pattern, "u");
  const isFormat = format === undefined ? undefined : formats[format];
  return (value, path, report) => {
    if (typeof value !== "string") return;
    // Counting code points is only needed near a bound; the length must hold before any pattern runs.
    if (value.length > most && codePoints(value) > most) {
      return report.add("value_not_allowed", path, `longer than ${most} characters`);
    }
    if (value.length < minLength * 2 && codePoints(value) < minLength) {
      return report.add("value_not_allowed", path, `shorter than ${minLength} characters`);
    }
    if (expression !== undefined && !expression.test(value)) {
      return report.add("value_not_allowed", path, `does not match ${pattern}`);
    }
    if (isFormat !== undefined && !isFormat(value)) report.add("value_not_allowed", path, `is not a ${format}`);
  };
}

function compileNumber(schema: JsonSchema): Check | undefined {
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  if (minimum === Number.NEGATIVE_INFINITY && maximum === Number.POSITIVE_INFINITY) return undefined;
  return (value, path, report) => {
    if (typeof value !== "number") return;
    if (value < minimum) report.add("value_not_allowed", path, `less than ${minimum}`);
    else if (value > maximum) report.add("value_not_allowed", path, `more than ${maximum}`);
  };
}

function compileArray(schema: JsonSchema): Check {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems = false } = schema;
  const item = schema.items === undefined ? undefined : compile(schema.items);
  return (value, path, report) => {
    if (!Array.isArray(value)) return;
    const items: readonly JsonValue[] = value;
    if (items.length < minItems) return report.add("value_not_allowed", path, `fewer than ${minItems} items`);
    if (items.length > maxItems) return report.add("value_not_allowed", path, `more than ${maxItems} items`);
    for (let index = 0; item !== undefined && index < items.length && !report.full; index++) {
      report.enter(items, index);
      item(items[index] ?? null, `${path}/${index}`, report);
    }
    // checkSchema admits uniqueItems for scalar items only, where a Set tells equality.
    if (uniqueItems && new Set(items).size !== items.length) {
      report.add("value_not_allowed", path, "an item is repeated");
    }
  };
}

function compileObject(schema: JsonSchema): Check {
  const members = new Map<string, Check>();
  for (const [name, member] of Object.entries(schema.properties ?? {})) members.set(name, compile(member));
  const required = schema.required ?? [];
  const { additionalProperties = false, maxProperties = Number.POSITIVE_INFINITY } = schema;
  const other = typeof additionalProperties === "object" ? compile(additionalProperties) : undefined;
  return (value, path, report) => {
    if (!isJsonObject(value)) return;
    const object: JsonObject = value;
    for (const name of required) {
      if (!Object.hasOwn(object, name)) report.add("missing_member", appendPointer(path, name), "is required");
    }
    const names = Object.keys(object);
    if (names.length > maxProperties) {
      return report.add("value_not_allowed", path, `more than ${maxProperties} members`);
    }
    for (const name of names) {
      if (report.full) return;
      const check = members.get(name) ?? other;
      if (check !== undefined) {
        report.enter(object, name);
        check(object[name] ?? null, appendPointer(path, name), report);
      } else if (additionalProperties === false) {
        report.add("unknown_member", appendPointer(path, name), "is not part of the schema");
      }
    }
  };
}

const TOLD_ALTERNATIVES = 3;

function compileAnyOf(branches: readonly JsonSchema[]): Check {
  const checks = branches.map(compile);
  return (value, path, report) => {
    const missed: (Finding | undefined)[] = [];
    for (const check of checks) {
      const trial = report.trial();
      check(value, path, trial);
      if (trial.findings.length === 0) return;
      missed.push(trial.findings[0]);
    }
    // What lies deeper would be told under a place where it does not stand.
    const here =
      missed.length <= TOLD_ALTERNATIVES && missed.every((finding) => finding?.path === shortenPointer(path));
    const why = here ? `: ${[...new Set(missed.map((finding) => finding?.message))].join(", or ")}` : "";
    report.add("value_not_allowed", path, `fits none of ${checks.length} alternatives${why}`);
  };
}

function codePoints(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    if ((text.charCodeAt(index) & 0xfc00) === 0xd800 && (text.charCodeAt(index + 1) & 0xfc00) === 0xdc00) {
      count--;
      index++;
    }
  }
  return count;
}
