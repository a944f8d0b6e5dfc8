import { appendPointer } from "../../../packages/request/src/pointer.ts";
import type { JsonSchema, JsonType } from "../../../packages/request/src/schema.ts";
import { checkSchema } from "../../../packages/request/src/schema-check.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { isFieldName } from "../ssh/request.ts";
import type { Findings } from "./findings.ts";
import { isForbiddenHeader, isHeaderName } from "./headers.ts";
import { type BodyType, type InputField, WHOLE } from "./pack.ts";
import { fieldMembers } from "./schema/input.ts";
import type { FieldWire } from "./schema/pack.ts";

/** What the request has room for. */
export interface InputFrame {
  readonly kind: "http" | "url" | "ssh";
  readonly path: string;
  readonly body: BodyType | null;
  /** Header fields that the provider already uses, in lower case. */
  readonly takenHeaders: ReadonlySet<string>;
}

/** As providers spell them, `_id` too; a name that objects of JavaScript have of their own is nobody's. */
const NAME = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const INSIDE = "/properties/input";
const PART_NAME = /^[A-Za-z0-9._-]{1,64}$/;
const SCALARS: ReadonlySet<JsonType> = new Set(["string", "integer", "number", "boolean"]);

export function readInputs(input: JsonObject, frame: InputFrame, findings: Findings): readonly InputField[] {
  const fields: InputField[] = [];
  const seen = new Set<string>();
  for (const [name, wire] of Object.entries(input)) {
    const path = appendPointer(frame.path, name);
    const field = readField(name, wire as JsonObject, frame, path, findings);
    if (field === null) continue;
    const wireName = field.place === "header" ? field.wireName.toLowerCase() : field.wireName;
    if (seen.has(`${field.place} ${wireName}`))
      findings.error("pack_input_unfit", path, `another input already goes to "${field.wireName}" there`);
    seen.add(`${field.place} ${wireName}`);
    fields.push(field);
  }
  lintWhole(fields, frame, findings);
  return fields;
}

/** An opaque body is one input, and so is a body that is a bare value; a push has its own members and no others. */
function lintWhole(fields: readonly InputField[], { body, path }: InputFrame, findings: Findings): void {
  const names = fields.filter(({ place }) => place === "body").map(({ wireName }) => wireName);
  if (body === "opaque" && (names.length !== 1 || fields.some(({ place, optional }) => place === "body" && optional)))
    findings.error("pack_input_unfit", path, "an opaque body is exactly one required input with in: body");
  if (
    names.includes(WHOLE) &&
    (names.length !== 1 || fields.some(({ wireName, optional }) => wireName === WHOLE && optional))
  )
    findings.error("pack_input_unfit", path, "whole: true is for the one required input of the body");
  if (body !== "git-receive-pack") return;
  const missing = ["updates", "capabilities", "packfile"].filter((name) => !names.includes(name));
  const foreign = names.filter((name) => !PUSH_MEMBERS.includes(name));
  if (missing.length > 0) findings.error("pack_input_unfit", path, `a push needs the inputs ${missing.join(", ")}`);
  if (foreign.length > 0) findings.error("pack_input_unfit", path, `a push has no ${foreign.join(", ")}`);
}

function readField(
  name: string,
  wire: JsonObject,
  frame: InputFrame,
  path: string,
  findings: Findings,
): InputField | null {
  const unfit: Unfit = (message, member = "", code = "pack_input_unfit") =>
    findings.error(code, path + member, message);
  if (!NAME.test(name))
    unfit(`an input's name is letters, digits and underscores; "as" gives it another name on the wire`);
  const { says, schema } = splitField(wire);
  // Checked where it will stand, one level down in the schema of all arguments.
  const faults = checkSchema({ type: "object", properties: { input: schema } });
  for (const fault of faults) findings.error("schema_violation", path + fault.path.slice(INSIDE.length), fault.message);
  if (faults.length > 0) return null;
  const kinds = kindsOf(schema);
  const list = kinds.size === 1 && kinds.has("array");
  const isText = says.in === "query" || (says.in === "body" && frame.body === "application/x-www-form-urlencoded");
  lintPlace(says, schema, kinds, frame, unfit);
  if (says.as !== undefined && (says.in === "path" || frame.kind === "ssh"))
    unfit("its name is the path parameter's or receiver field's own; drop as", "/as");
  if (says.percent !== undefined && says.in !== "path" && says.in !== "query")
    unfit("percent is for path and query inputs", "/percent");
  if (says.language !== undefined && !(says.in === "body" && typeof schema.const === "string"))
    unfit("a document is a const with in: body", "/language");
  if (says.whole === true && !(says.in === "body" && frame.body === "application/json" && says.as === undefined))
    unfit("the whole of a JSON body is one input with in: body and no as", "/whole");
  if (says.style !== undefined && !(isText && list)) unfit("style is for lists in a query or form", "/style");
  if (frame.body !== "multipart/form-data" || says.in !== "body") {
    for (const member of ["part", "filename", "media_type"] as const) {
      if (says[member] !== undefined) unfit(`${member} is for parts of a multipart body`, `/${member}`);
    }
  }
  const part = isBytes(says, frame.body, name)
    ? "bytes"
    : (says.part ?? (kinds.has("object") || kinds.has("array") ? "json" : "field"));
  return {
    name,
    place: says.in ?? null,
    wireName: says.whole === true ? WHOLE : (says.as ?? name),
    optional: says.optional ?? false,
    constant: schema.const,
    percent: says.percent ?? "refuse",
    list: isText && list ? (says.style ?? "repeat") : null,
    opaque: says.sensitive === true || (says.opaque ?? (part === "file" || part === "bytes")),
    sensitive: says.sensitive ?? false,
    part,
    filename: says.filename ?? name,
    mediaType: says.media_type ?? "application/octet-stream",
    ...(says.language === undefined ? {} : { language: says.language }),
    schema,
  };
}

/** What git push says, by the names under which it is typed. */
const PUSH_MEMBERS = ["shallow", "updates", "capabilities", "push_options", "packfile"];

function isBytes(says: FieldWire, body: BodyType | null, name: string): boolean {
  return says.in === "body" && (body === "opaque" || (body === "git-receive-pack" && (says.as ?? name) === "packfile"));
}

type Unfit = (message: string, member?: string, code?: "pack_input_unfit" | "pack_header_forbidden") => void;

function lintPlace(
  says: FieldWire,
  schema: JsonSchema,
  kinds: ReadonlySet<JsonType>,
  frame: InputFrame,
  unfit: Unfit,
): void {
  if (frame.kind === "ssh") {
    lintReceiverField(says, schema, kinds, unfit);
    return;
  }
  if (says.optional && schema.const !== undefined) unfit("a const is always sent; drop optional", "/optional");
  if (frame.kind === "url" && (says.in === "path" || says.in === "query")) {
    unfit("the agent's URL holds path and query already", "/in");
  }
  switch (says.in) {
    case undefined:
      unfit("expected in: path, query, header or body");
      return;
    case "path":
      if (!isScalar(kinds)) unfit("a path segment is text, a number or a boolean");
      if (says.optional) unfit("a path segment cannot be left out", "/optional");
      return;
    case "query":
      if (!isScalar(kinds) && !isScalarList(schema, kinds))
        unfit("a query parameter is text, a number, a boolean or a list of them");
      return;
    case "header":
      lintHeader(says, kinds, frame, unfit);
      return;
    case "body":
      lintBody(says, schema, kinds, frame.body, unfit);
      return;
  }
}

function lintHeader(says: FieldWire, kinds: ReadonlySet<JsonType>, frame: InputFrame, unfit: Unfit): void {
  if (!isScalar(kinds)) unfit("a header is text, a number or a boolean");
  const name = says.as ?? "";
  if (!isHeaderName(name)) unfit("expected as: the name of the header field", "/as");
  else if (isForbiddenHeader(name)) unfit(`an action may not set "${name}"`, "/as", "pack_header_forbidden");
  else if (frame.takenHeaders.has(name.toLowerCase()))
    unfit(`the gateway sets "${name}" for this provider`, "/as", "pack_header_forbidden");
}

function lintBody(
  says: FieldWire,
  schema: JsonSchema,
  kinds: ReadonlySet<JsonType>,
  body: BodyType | null,
  unfit: Unfit,
): void {
  if (body === null) unfit("the request declares no body", "/in");
  if (body === "opaque" && !(kinds.size === 1 && kinds.has("string")))
    unfit("an opaque body comes as base64 text: type: string");
  if (body === "application/x-www-form-urlencoded" && !isScalar(kinds) && !isScalarList(schema, kinds)) {
    unfit("a form field is text, a number, a boolean or a list of them");
  }
  if (body !== "multipart/form-data") return;
  if (says.as !== undefined && !PART_NAME.test(says.as))
    unfit("a part's name is letters, digits, dots, dashes and underscores", "/as");
  if (says.part === "file" && !(kinds.size === 1 && kinds.has("string")))
    unfit("a file comes as base64 text: type: string", "/part");
  if (says.part !== "file" && (says.filename !== undefined || says.media_type !== undefined))
    unfit("only a file part has a file name and media type");
  if ((says.part ?? "field") === "field" && !isScalar(kinds) && says.part !== undefined)
    unfit("a field part is text, a number or a boolean", "/part");
}

/** The receiver refuses what fails a strict allow-list, so the pack must say one for text. */
function lintReceiverField(says: FieldWire, schema: JsonSchema, kinds: ReadonlySet<JsonType>, unfit: Unfit): void {
  if (says.in !== undefined) unfit("a receiver's field has no place; drop in", "/in");
  if (kinds.has("number") || !isScalar(kinds)) unfit("a receiver's field is text, an integer or a boolean");
  const closed = schema.pattern ?? schema.enum ?? schema.const ?? schema.format;
  if (kinds.has("string") && closed === undefined) unfit("text for a receiver needs pattern, enum or format");
}

export function lintReceiverNames(fields: readonly InputField[], path: string, findings: Findings): void {
  for (const { name } of fields) {
    if (!isFieldName(name))
      findings.error(
        "pack_input_unfit",
        appendPointer(path, name),
        "a receiver's field is lower case and not reserved",
      );
  }
}

function splitField(wire: JsonObject): { readonly says: FieldWire; readonly schema: JsonSchema } {
  const says: Record<string, JsonValue> = {};
  const schema: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(wire)) (Object.hasOwn(fieldMembers, name) ? says : schema)[name] = value;
  return { says: says as FieldWire, schema: schema as JsonSchema };
}

/** The JSON types that a value of this schema can have. */
function kindsOf(schema: JsonSchema): ReadonlySet<JsonType> {
  if (schema.type !== undefined) return new Set(typeof schema.type === "string" ? [schema.type] : schema.type);
  if (schema.const !== undefined) return new Set([kindOf(schema.const)]);
  if (schema.enum !== undefined) return new Set(schema.enum.map(kindOf));
  return new Set((schema.anyOf ?? []).flatMap((branch) => [...kindsOf(branch)]));
}

function kindOf(value: string | number | boolean | null): JsonType {
  if (value === null) return "null";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value === "string" ? "string" : "boolean";
}

function isScalar(kinds: ReadonlySet<JsonType>): boolean {
  return kinds.size > 0 && [...kinds].every((kind) => SCALARS.has(kind));
}

/** One value that may be shown: it can stand in a name, on a card and in the log. */
export function isPlain({ opaque, schema }: InputField): boolean {
  return !opaque && isScalar(kindsOf(schema));
}

function isScalarList(schema: JsonSchema, kinds: ReadonlySet<JsonType>): boolean {
  return kinds.size === 1 && kinds.has("array") && schema.items !== undefined && isScalar(kindsOf(schema.items));
}
