import { defaults } from "../../../kernel/defaults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { steeringOf } from "../../upgrade/meaning/steering.ts";
import type { Api, ApiOperation, Parameter } from "../../upgrade/model/api.ts";
import { isForbiddenHeader, isHeaderName } from "../headers.ts";
import type { BodyType, Place } from "../pack.ts";
import { draftSchema, isMemberName } from "./draft-schema.ts";

/** The inputs of one action, or why the operation cannot be one. `notes` are for the reviewer. */
export type DraftedInputs =
  | {
      readonly kind: "fits";
      readonly body: BodyType | null;
      readonly inputs: ReadonlyMap<string, JsonObject>;
      /** The document's names of path parameters to the pack's. */
      readonly renamed: ReadonlyMap<string, string>;
      readonly notes: readonly string[];
    }
  | { readonly kind: "unfit"; readonly why: string };

interface Candidate {
  readonly place: Place;
  readonly wireName: string;
  readonly required: boolean;
  readonly schema: JsonValue;
  readonly style: string;
}

/** Inputs that can do more than say something; a reviewer sees them first. */
const STEERING: Readonly<Record<string, string>> = {
  token: "an agent should not hold what looks like a secret",
  role: "this may decide what others may do",
  url: "the provider may send to, fetch or lead people to this address",
};
const NO_BODY = new Set(["GET", "HEAD"]);
const PART_NAME = /^[A-Za-z0-9._-]{1,64}$/;

export function draftInputs(api: Api, operation: ApiOperation, takenHeaders: ReadonlySet<string>): DraftedInputs {
  const notes: string[] = [];
  const body = listBody(api, operation, notes);
  if (body.kind === "unfit") return body;
  const inputs = new Map<string, JsonObject>();
  const renamed = new Map<string, string>();
  const given: Candidate[] = operation.parameters.flatMap((parameter) => placed(parameter, notes));
  // Required ones first: where an operation has more than an action may take, it is the optional ones that go.
  const ordered = [...given, ...body.members].sort((a, b) => Number(b.required) - Number(a.required));
  const steers = new Map<string, readonly string[]>();
  let beyond = 0;
  for (const candidate of ordered) {
    const field = draftField(api, candidate, body.type, takenHeaders);
    const name = `${candidate.place} ${candidate.wireName}`;
    if (field.kind === "unfit") {
      if (candidate.required) return unfit(`it needs ${name}, which does not fit: ${field.why}`);
      notes.push(`${name} is left out: ${field.why}`);
      continue;
    }
    if (inputs.size >= defaults.packDraftInputs) {
      if (candidate.required) return unfit(`it needs more than ${defaults.packDraftInputs} inputs`);
      beyond++;
      continue;
    }
    const input = nameInput(candidate, inputs);
    if (candidate.place === "path") renamed.set(candidate.wireName, input);
    const as = input === candidate.wireName || candidate.place === "path" ? {} : { as: candidate.wireName };
    const header = candidate.place === "header" ? { as: candidate.wireName } : as;
    const optional = candidate.required ? {} : { optional: true };
    inputs.set(input, { in: candidate.place, ...header, ...field.schema, ...optional });
    const steering = steeringOf(candidate.wireName, api.schemas.shapeOf(candidate.schema));
    if (steering in STEERING) steers.set(steering, [...(steers.get(steering) ?? []), input]);
    notes.push(...field.notes.map((note) => `${name}: ${note}`));
  }
  if (beyond > 0) notes.push(`${beyond} optional inputs are left out: an action takes ${defaults.packDraftInputs}`);
  const warnings = [...steers].map(([steering, names]) => `${STEERING[steering]}: ${names.join(", ")}`);
  return { kind: "fits", body: body.type, inputs, renamed, notes: [...warnings, ...notes] };
}

function placed(parameter: Parameter, notes: string[]): readonly Candidate[] {
  const { in: place, name: wireName, required, schema, style } = parameter;
  switch (place) {
    case "path":
    case "query":
    case "header":
      return [{ place, wireName, required, schema, style }];
    case "form":
      return [];
  }
  notes.push(`${place} ${wireName} is left out: an action cannot set a ${place}`);
  return [];
}

type DraftedBody =
  | { readonly kind: "fits"; readonly type: BodyType | null; readonly members: readonly Candidate[] }
  | { readonly kind: "unfit"; readonly why: string };

function listBody(api: Api, operation: ApiOperation, notes: string[]): DraftedBody {
  const forms = operation.parameters.filter((parameter) => parameter.in === "form");
  if (forms.length > 0) {
    const hasFile = forms.some(({ schema }) => api.schemas.shapeOf(schema).types.includes("file"));
    const members = forms.map(({ name, required, schema, style }) => member(name, required, schema, style));
    return { kind: "fits", type: hasFile ? "multipart/form-data" : "application/x-www-form-urlencoded", members };
  }
  const { body } = operation;
  if (body === null) return { kind: "fits", type: null, members: [] };
  if (NO_BODY.has(operation.method)) {
    if (body.required) return unfit(`a ${operation.method} carries no body, and it needs one`);
    notes.push(`the body is left out: a ${operation.method} carries none`);
    return { kind: "fits", type: null, members: [] };
  }
  const type = (["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] as const).find((one) =>
    body.media.has(one),
  );
  if (type === undefined) return unfit(`its body is ${[...body.media.keys()].join(" or ") || "of no named type"}`);
  const shape = api.schemas.shapeOf(body.media.get(type));
  if (shape.choices.length > 0) return unfit("its body is one of several forms");
  if (shape.properties.size === 0) {
    // An empty object in the document is a body without members, and `{}` is what it takes.
    const empty = shape.types.join() === "object" && typeof shape.additional !== "object";
    if (!empty && body.required) return unfit("its body is no object with named members");
    notes.push("the document names no members of the body; an empty one is sent");
    return { kind: "fits", type, members: [] };
  }
  if (shape.bounds.has("required")) return unfit(`its body requires ${shape.bounds.get("required")}, undescribed`);
  if (!body.required) notes.push("the body is optional in the document; here it is always sent");
  const members = [...shape.properties]
    .filter(([, property]) => !api.schemas.shapeOf(property.schema).readOnly)
    .map(([name, property]) => member(name, property.required, property.schema, ""));
  return { kind: "fits", type, members };
}

function member(wireName: string, required: boolean, schema: JsonValue, style: string): Candidate {
  return { place: "body", wireName, required, schema, style };
}

type DraftedField =
  | { readonly kind: "fits"; readonly schema: JsonObject; readonly notes: readonly string[] }
  | { readonly kind: "unfit"; readonly why: string };

function draftField(
  api: Api,
  candidate: Candidate,
  body: BodyType | null,
  takenHeaders: ReadonlySet<string>,
): DraftedField {
  const { place, wireName, schema } = candidate;
  if (!isMemberName(wireName)) return unfit("its name cannot be written");
  if (place === "header") {
    if (takenHeaders.has(wireName)) return unfit("the gateway sets it for this provider");
    if (wireName.includes("idempotency"))
      return unfit("the gateway makes tokens; say provider.idempotency with the window that the provider documents");
    if (!isHeaderName(wireName) || isForbiddenHeader(wireName)) return unfit("it is not an action's to set");
  }
  const shape = api.schemas.shapeOf(schema);
  if (place === "body" && body === "multipart/form-data") {
    if (!PART_NAME.test(wireName)) return unfit("its name cannot be a part's");
    if (shape.types.includes("file") || shape.format === "binary")
      return { kind: "fits", schema: { part: "file", type: "string" }, notes: [] };
  }
  const isJson = place === "body" && body !== "application/x-www-form-urlencoded";
  const drafted = draftSchema(api.schemas, schema, isJson && body === "application/json");
  if (drafted.kind === "unfit" || isJson) return drafted;
  const type = drafted.schema["type"];
  if (type === "array")
    return place === "path" || place === "header" ? unfit("it is a list") : draftList(api, candidate, drafted);
  return type === "object" || (drafted.schema["anyOf"] !== undefined && !holdsScalars(drafted.schema))
    ? unfit(`a ${place === "body" ? "form" : place} cannot carry an object`)
    : drafted;
}

/** How a list is written differs by dialect and style; only the two ways that a pack knows are taken. */
function draftList(api: Api, { style }: Candidate, drafted: DraftedField & { readonly kind: "fits" }): DraftedField {
  const items = drafted.schema["items"];
  if (!isJsonObject(items) || !holdsScalars(items)) return unfit("its elements are not text, numbers or booleans");
  const comma = api.dialect === "swagger-2.0" ? ["", "csv"] : ["false", "formfalse"];
  const repeat = api.dialect === "swagger-2.0" ? ["multi"] : ["", "true", "form", "formtrue"];
  if (comma.includes(style)) return { ...drafted, schema: { ...drafted.schema, style: "comma" } };
  return repeat.includes(style) ? drafted : unfit(`its list style is ${style}`);
}

function holdsScalars(schema: JsonObject): boolean {
  const { type, anyOf, enum: values } = schema;
  if (values !== undefined) return true;
  if (Array.isArray(anyOf)) return anyOf.every((branch: JsonValue) => isJsonObject(branch) && holdsScalars(branch));
  const types: readonly JsonValue[] = Array.isArray(type) ? type : [type ?? "object"];
  return types.every((one) => one !== "object" && one !== "array" && one !== "null");
}

/** Letters, digits and underscores; a name that another place already uses gets its place in front. */
function nameInput({ place, wireName }: Candidate, taken: ReadonlyMap<string, unknown>): string {
  const plain = wireName
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^[^A-Za-z]+|_+$/g, "")
    .slice(0, 56);
  const base = /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(wireName) ? wireName : plain || "value";
  const names = [base, `${place}_${base}`.slice(0, 60)];
  for (let count = 2; ; count++) {
    const free = names.find((name) => !taken.has(name));
    if (free !== undefined) return free;
    names.push(`${place}_${base}`.slice(0, 58) + count);
  }
}

function unfit(why: string): { readonly kind: "unfit"; readonly why: string } {
  return { kind: "unfit", why };
}
