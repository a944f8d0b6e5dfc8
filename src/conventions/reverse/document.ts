import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import { documentOf, type HttpAction } from "../action/pack.ts";
import { isSpooled, type SentBody } from "../action/spooled.ts";
import { documentKey, readOperations } from "../graphql/document.ts";
import type { PlainRequest } from "./plain.ts";

/**
 * Where the tool's document is the action's own with other blanks, it becomes the action's text: that is what is sent.
 * Another document is not this action.
 */
export function withDocument(
  action: HttpAction,
  request: PlainRequest,
  unfit: (why: string, near: boolean) => Error,
): PlainRequest {
  const field = documentOf(action);
  if (field === null) return request;
  const body = request.body === null || isSpooled(request.body) ? null : readOnce(request.body);
  const { [field.wireName]: said = null, ...rest } = isJsonObject(body) ? body : {};
  const own = String(field.constant);
  if (typeof said !== "string" || keyOf(said) !== keyOf(own)) {
    const name = readOperations(own)?.[0]?.name ?? "without a name";
    const near = typeof said === "string" && said.includes(` ${name}`);
    throw unfit(`it sends a document ${name} with ${near ? "other fields or choices" : "another purpose"}`, near);
  }
  return { ...request, body: Buffer.from(JSON.stringify({ ...rest, [field.wireName]: own }), "utf8") };
}

/** Whether the action has no document, or the very one that the tool sent: what has another is not looked at any further. */
export function mayBeDocument(action: HttpAction, body: SentBody | null): boolean {
  const field = documentOf(action);
  if (field === null) return true;
  const said = body === null || isSpooled(body) ? null : readOnce(body);
  const text = isJsonObject(said) ? said[field.wireName] : null;
  return typeof text === "string" && keyOf(text) === keyOf(String(field.constant));
}

/** A pack has dozens of documents, and each is held against the same request. */
const bodies = new WeakMap<Buffer, JsonValue>();
const keys = new Map<string, string>();

function readOnce(bytes: Buffer): JsonValue {
  if (bytes.byteLength === 0) return null;
  const known = bodies.get(bytes);
  if (known !== undefined) return known;
  const value = parseJsonValue(bytes);
  bodies.set(bytes, value);
  return value;
}

function keyOf(text: string): string {
  const known = keys.get(text);
  if (known !== undefined) return known;
  const key = documentKey(text);
  if (keys.size >= KEYS_KEPT) keys.clear();
  keys.set(text, key);
  return key;
}

const KEYS_KEPT = 256;
