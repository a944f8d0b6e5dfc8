import { gunzipSync } from "node:zlib";
import { parseJson } from "../../../packages/request/src/json/parse.ts";
import { readMediaType } from "../../../packages/request/src/media-type.ts";
import { readPairs } from "../../../packages/request/src/pairs.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { type HttpAction, type InputField, WHOLE } from "../action/pack.ts";
import { base64Length, isSpooled, type SentBody, type SpooledBody, standInFor } from "../action/spooled.ts";
import { PUSH_MEDIA_TYPE, readPush } from "../git/push.ts";
import { readText } from "./value.ts";

/** Members of a body by their names on the wire. */
type Members = ReadonlyMap<string, JsonValue>;

/** Reads a body as the one media type that the action sends. Throws a refusal that says what is wrong with it. */
export function membersOf(body: SentBody, contentType: string | null, action: HttpAction): Members {
  const { essence } = readMediaType(contentType ?? "");
  const wanted = mediaTypeOf(action);
  if (essence !== wanted)
    throw new Denied("media_type_unsupported", `the body is ${essence}, and the action sends ${wanted}`);
  const fields = action.inputs.filter(({ place }) => place === "body");
  return isSpooled(body) ? spooledMember(body, action, fields[0]) : readMembers(body, action, fields);
}

/** What is too large to be looked into stands as a whole, where the action takes it so and its pack lets it be so large. */
function spooledMember(body: SpooledBody, { body: type }: HttpAction, field: InputField | undefined): Members {
  if (type !== "opaque" || field === undefined)
    throw new Denied(
      "body_too_large",
      `a body of ${body.byteLength} bytes is taken by actions with body: opaque alone`,
    );
  const { maxLength } = field.schema;
  if (maxLength === undefined || base64Length(body.byteLength) > maxLength)
    throw new Denied("body_too_large", `the body has ${body.byteLength} bytes, and its pack allows fewer (maxLength)`);
  return new Map([[field.wireName, standInFor(body)]]);
}

function readMembers(body: Buffer, action: HttpAction, fields: readonly InputField[]): Members {
  switch (action.body) {
    case "application/json":
      if (fields[0]?.wireName === WHOLE) return new Map([[WHOLE, parseJson(body).value]]);
      return new Map(Object.entries(readObject(body)));
    case "application/x-www-form-urlencoded":
      return readForm(body, fields);
    case "opaque":
      return new Map([[fields[0]?.wireName ?? "", body.toString("base64")]]);
    case "git-receive-pack":
      return pushMembers(body);
    case "multipart/form-data":
    case null:
      throw new Denied("media_type_unsupported", "an upload cannot be read back into an action; use gw call");
  }
}

/** The bytes as they were before a tool compressed them, where the action takes that. */
export function unzip(body: Buffer): Buffer {
  try {
    return gunzipSync(body, { maxOutputLength: defaults.containedBodyBytes });
  } catch {
    throw new Denied("content_encoding_unsupported", "the body is not gzip, or is too large once it is unpacked");
  }
}

function mediaTypeOf({ body, mediaType }: HttpAction): string {
  if (body === "git-receive-pack") return PUSH_MEDIA_TYPE;
  return mediaType ?? body ?? "";
}

function pushMembers(body: Buffer): Members {
  const { shallow, updates, capabilities, options, packfile } = readPush(body);
  const members = new Map<string, JsonValue>([
    ["updates", updates.map((one) => ({ ...one }))],
    ["capabilities", [...capabilities]],
    ["packfile", packfile.toString("base64")],
  ]);
  if (shallow.length > 0) members.set("shallow", [...shallow]);
  return options.length === 0 ? members : members.set("push_options", [...options]);
}

function readObject(body: Buffer): JsonObject {
  const { value } = parseJson(body);
  if (!isJsonObject(value)) throw new Denied("schema_violation", "the body is not an object");
  return value;
}

function readForm(body: Buffer, fields: readonly InputField[]): Members {
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
