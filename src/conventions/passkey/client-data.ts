import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";

export const CLIENT_DATA_BYTES = 4_096;

/** What the browser vouches for: what was asked of the authenticator, where, and that the page was not inside another. */
export function requireClientData(
  bytes: Buffer,
  wanted: {
    readonly type: "webauthn.create" | "webauthn.get";
    readonly challenge: Buffer;
    readonly origin: string;
  },
): void {
  const data = readJson(bytes);
  if (!isJsonObject(data)) throw new Denied("passkey_malformed", "What the browser says of the request is no object.");
  if (data["type"] !== wanted.type) refuse("it was made for something else than this");
  if (data["challenge"] !== wanted.challenge.toString("base64url")) refuse("it was made for another card or decision");
  if (data["origin"] !== wanted.origin) refuse(`it was made at another place than ${wanted.origin}`);
  if (data["crossOrigin"] !== undefined && data["crossOrigin"] !== false) refuse("the page stood inside another one");
  if (data["topOrigin"] !== undefined) refuse("the page stood inside another one");
}

function readJson(bytes: Buffer): JsonValue {
  if (bytes.length > CLIENT_DATA_BYTES) throw new Denied("passkey_malformed", "What the browser says is too long.");
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as JsonValue;
  } catch {
    throw new Denied("passkey_malformed", "What the browser says of the request is not JSON.");
  }
}

function refuse(why: string): never {
  throw new Denied("passkey_refused", `The passkey's answer does not count: ${why}. Nothing was changed.`);
}
