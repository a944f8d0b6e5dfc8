import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { readSecret } from "../secret-form.ts";
import { isRemote } from "./remote.ts";
import type { SecretSource } from "./source.ts";

/** What opens a place that secrets are kept in, as it is sealed: the secret_id of a role, a token or an AWS key. The others need nothing. */
export function readOpener(source: SecretSource, given: Secret): Secret {
  if (!isRemote(source)) {
    if (given.byteLength > 0)
      invalid("This source is opened by nothing: there is no secret to give, and none to rotate.");
    return Secret.take(Buffer.alloc(0));
  }
  if (source.kind === "aws-secret") return readSecret("aws-sigv4", given);
  const what = source.kind === "connect" || source.roleId === null ? "The token" : "The secret_id";
  given.use((bytes) => {
    const fits = bytes.length >= defaults.secretBytesMin && bytes.length <= defaults.secretBytes;
    if (!fits || bytes.some((byte) => byte < 0x21 || byte > 0x7e)) invalid(`${what} is visible ASCII without spaces.`);
  });
  return given.copy();
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}
