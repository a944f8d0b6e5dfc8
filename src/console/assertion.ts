import type { Assertion } from "../conventions/passkey/assertion.ts";
import type { JsonObject } from "../kernel/json.ts";
import { textOf } from "./http.ts";

/** What an authenticator answered, as the page hands it over. */
export function readAssertion(value: unknown): Assertion {
  const given = (typeof value === "object" && value !== null ? value : {}) as JsonObject;
  const part = (name: keyof Assertion): string => textOf(given, name, 8_192);
  return {
    credential_id: part("credential_id"),
    authenticator_data: part("authenticator_data"),
    client_data: part("client_data"),
    signature: part("signature"),
  };
}
