import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { BodyType, InputField } from "../action/pack.ts";
import { parseJson } from "../request/json/parse.ts";
import { readMediaType } from "../request/media-type.ts";
import { readPairs } from "../request/pairs.ts";
import type { ValueSpelling } from "../request/schema.ts";
import { readText } from "./value.ts";

/** The members of a body by their names on the wire. */
export interface BodyRead {
  readonly members: ReadonlyMap<string, JsonValue>;
  /** How the members of a JSON body were written, for the schema. */
  readonly spelling?: ValueSpelling;
}

/** Reads a body as the one media type that the action sends. Throws a refusal that says what is wrong with it. */
export function readPlainBody(
  body: Buffer,
  contentType: string | null,
  type: BodyType,
  fields: readonly InputField[],
): BodyRead {
  const { essence } = readMediaType(contentType ?? "");
  if (essence !== type)
    throw new Denied("media_type_unsupported", `the body is ${essence}, and the action sends ${type}`);
  switch (type) {
    case "application/json":
      return { members: new Map(Object.entries(readObject(body))) };
    case "application/x-www-form-urlencoded":
      return { members: readForm(body, fields) };
    case "multipart/form-data":
      throw new Denied("media_type_unsupported", "an upload cannot be read back into an action; use gw call");
  }
}

function readObject(body: Buffer): JsonObject {
  const { value } = parseJson(body);
  if (!isJsonObject(value)) throw new Denied("schema_violation", "the body is not an object");
  return value;
}

function readForm(body: Buffer, fields: readonly InputField[]): ReadonlyMap<string, JsonValue> {
  const lists = new Set(fields.filter(({ list }) => list === "repeat").map(({ wireName }) => wireName));
  const pairs = readPairs(body.toString("latin1"), { malformed: "form_malformed", lists, brackets: true });
  const members = new Map<string, JsonValue>();
  for (const [name, texts] of pairs) {
    const field = fields.find(({ wireName }) => wireName === name);
    const value = field === undefined ? texts[0] : readText(field, texts);
    if (value === undefined) throw new Denied("schema_violation", `"${name}" does not fit its type`);
    members.set(name, value);
  }
  return members;
}
