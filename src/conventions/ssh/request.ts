import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { isJsonObject } from "../../kernel/json.ts";
import { decodeStrictUtf8, parseStrictJson } from "./strict-json.ts";

/**
 * The one request that a receiver reads: `action`, the operation's own fields and `request_id`, flat and plain. `nonce`
 * ties it to one connection and `signature` to the gateway, where the host's manifest asks for that.
 */
export interface ReceiverRequest {
  readonly action: string;
  readonly requestId: string;
  readonly fields: ReadonlyMap<string, PlainValue>;
  readonly nonce: string | null;
  readonly signature: string | null;
  /** Everything but the signature, in one form: what a signature covers, with the host it is for. */
  readonly signed: string;
}

export type PlainValue = string | number | boolean;

export const REQUEST_BYTES_MAX = 16_384;
/** Room for the nonce and the signature. */
const ENVELOPE_BYTES = 512;
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
const REQUEST_ID = /^[A-Za-z0-9_-]{8,64}$/;
const RESERVED = ["action", "request_id", "nonce", "signature"];

export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

export function isFieldName(text: string): boolean {
  return NAME.test(text) && !RESERVED.includes(text);
}

export function isActionName(text: string): boolean {
  return NAME.test(text);
}

export interface RequestDraft {
  readonly action: string;
  readonly fields: JsonObject;
  readonly requestId: string;
}

/** Names the first thing in a draft that no receiver could take; undefined when it can be sent. */
export function findUnsendable(draft: RequestDraft): string | undefined {
  if (!isActionName(draft.action)) return `the action ${JSON.stringify(draft.action)} has no form on the wire`;
  if (!isRequestId(draft.requestId)) return "the request identifier has no form on the wire";
  for (const [name, value] of Object.entries(draft.fields)) {
    if (!isFieldName(name)) return `the field ${JSON.stringify(name)} is reserved or has no form on the wire`;
    if (!isPlain(value)) return `the field ${JSON.stringify(name)} is not a string, a whole number or a boolean`;
  }
  const bytes = Buffer.byteLength(canonicalFlat(membersOf(draft)), "utf8");
  if (bytes + ENVELOPE_BYTES > REQUEST_BYTES_MAX) return "the fields are too large together";
  return undefined;
}

/** The connection that a request is written for: the host by its key, and what the receiver drew for it. */
export interface RequestPlace {
  readonly hostKey: string;
  readonly nonce: string;
}

/** The bytes to send, and where there is a key the signature in them. */
export function writeRequest(
  draft: RequestDraft,
  { hostKey, nonce }: RequestPlace,
  sign: ((data: Buffer) => Buffer | null) | null,
): Buffer {
  const members = { ...membersOf(draft), nonce };
  const signed = canonicalFlat(members);
  const signature = sign?.(signedBytes(hostKey, signed)) ?? null;
  if (signature === null) return Buffer.from(`${signed}\n`, "utf8");
  return Buffer.from(`${canonicalFlat({ ...members, signature: signature.toString("base64") })}\n`, "utf8");
}

export type RequestReading =
  | { readonly kind: "request"; readonly request: ReceiverRequest }
  | { readonly kind: "refused"; readonly code: "request_malformed" | "request_id_invalid" };

export function readRequest(bytes: Uint8Array): RequestReading {
  const text = decodeStrictUtf8(bytes);
  const value = text === undefined ? undefined : parseStrictJson(text);
  if (!isJsonObject(value)) return { kind: "refused", code: "request_malformed" };
  const members: Record<string, PlainValue> = Object.create(null) as Record<string, PlainValue>;
  for (const [name, member] of Object.entries(value)) {
    if (!NAME.test(name) || !isPlain(member)) return { kind: "refused", code: "request_malformed" };
    members[name] = member;
  }
  const { action, request_id: requestId, nonce = null, signature = null, ...fields } = members;
  if (typeof requestId !== "string" || !REQUEST_ID.test(requestId)) {
    return { kind: "refused", code: "request_id_invalid" };
  }
  if (typeof action !== "string" || !isTextOrNull(nonce) || !isTextOrNull(signature)) {
    return { kind: "refused", code: "request_malformed" };
  }
  const signed: Record<string, PlainValue> = { ...members };
  delete signed["signature"];
  const request = { action, requestId, nonce, signature, fields: new Map(Object.entries(fields)) };
  return { kind: "request", request: { ...request, signed: canonicalFlat(signed) } };
}

function membersOf(draft: RequestDraft): Record<string, PlainValue> {
  return { ...(draft.fields as Record<string, PlainValue>), action: draft.action, request_id: draft.requestId };
}

/**
 * A label of our own, so that a signature over a request can stand for nothing else, and the host's key, so that a host
 * which hands on another one's nonce gets nothing that the other would take.
 */
export function signedBytes(hostKey: string, signed: string): Buffer {
  return Buffer.from(`gw-ssh-request-v1\n${hostKey}\n${signed}`, "utf8");
}

/** RFC 8785 for flat objects with ASCII names; a property proves it equal to the kernel's, which needs a newer Node. */
export function canonicalFlat(members: Readonly<Record<string, PlainValue>>): string {
  const parts = Object.keys(members)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(members[name])}`);
  return `{${parts.join(",")}}`;
}

function isPlain(value: JsonValue): value is PlainValue {
  return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
}

function isTextOrNull(value: PlainValue | null): value is string | null {
  return value === null || typeof value === "string";
}
