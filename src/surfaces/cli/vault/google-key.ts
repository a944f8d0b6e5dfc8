import { parseJsonValue } from "../../../../packages/request/src/json/parse.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject } from "../../../kernel/json.ts";
import { Secret } from "../../../kernel/secret.ts";
import { readGivenFile } from "../read-given-file.ts";
import type { ExchangeOptions } from "./exchange-options.ts";

/** The key file of a Google service account: who it is, where it gets tokens, and its private key. */
export function readGoogleKey(path: string): { readonly options: ExchangeOptions; readonly secret: Secret } {
  const bytes = readGivenFile(path, defaults.secretBytes, "credential_invalid");
  try {
    const key = parseJsonValue(bytes);
    const text = (name: string): string => {
      const value = isJsonObject(key) ? key[name] : undefined;
      return typeof value === "string" ? value : invalid(path);
    };
    if (text("type") !== "service_account") invalid(path);
    return {
      options: { clientId: text("client_email"), keyId: text("private_key_id"), tokenEndpoint: text("token_uri") },
      secret: Secret.fromText(text("private_key")),
    };
  } catch {
    return invalid(path);
  } finally {
    bytes.fill(0);
  }
}

function invalid(path: string): never {
  throw new Denied(
    "credential_invalid",
    `${path} is no key file of a Google service account: JSON with type, client_email, private_key, private_key_id and token_uri.`,
  );
}
