import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { readHostKey } from "./ssh/host-key.ts";
import type { CredentialKind } from "./vault.ts";

const LABEL = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const PACK = /^[a-z][a-z0-9-]{0,63}$/;
const HEADER_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;
const LOOPBACK = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\])$/;

/** Headers that frame or route a request: a secret there would change what is sent, not who sends it. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  "accept-encoding",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

export function checkLabel(label: string): void {
  if (!LABEL.test(label)) {
    invalid("A label is 1 to 64 of a-z, 0-9, dot, dash and underscore, and starts with a letter or digit.");
  }
}

/** The places a secret may go, in the one spelling that is compared at every loan. */
export function readBindings(kind: CredentialKind, places: readonly string[]): readonly string[] {
  if (places.length === 0 || places.length > defaults.vaultBindings) {
    invalid(`A credential is bound to 1 to ${defaults.vaultBindings} places: ${boundTo(kind).option}.`);
  }
  return [...new Set(places.map((place) => readBinding(kind, place)))].sort();
}

export function readBinding(kind: CredentialKind, place: string): string {
  return boundTo(kind).read(place);
}

export function readHeaderName(kind: CredentialKind, name: string | undefined): string | null {
  if (kind !== "header") return name === undefined ? null : invalid("Only the kind `header` takes a header name.");
  const lower = name?.toLowerCase() ?? "";
  if (!HEADER_NAME.test(lower) || RESERVED_HEADERS.has(lower)) {
    return invalid("The kind `header` needs --header NAME, a header that carries a credential, such as x-api-key.");
  }
  return lower;
}

function readOrigin(place: string): string {
  const url = URL.canParse(place) ? new URL(place) : null;
  const exact = url !== null && (place === url.origin || place === `${url.origin}/`);
  const guarded = url?.protocol === "https:" || (url?.protocol === "http:" && LOOPBACK.test(url.hostname));
  if (url === null || !exact || !guarded) {
    return invalid("An origin is https://HOST or https://HOST:PORT and nothing more; http is for loopback alone.");
  }
  return url.origin;
}

/** What a secret of a kind is bound to: how it is read, and how it is given. */
function boundTo(kind: CredentialKind): { readonly option: string; readonly read: (place: string) => string } {
  switch (kind) {
    case "bearer":
    case "basic":
    case "header":
    case "oauth2":
    case "jwt-bearer":
    case "github-app":
    case "aws-sigv4":
    case "aws-role":
    case "http-signature":
    case "mtls":
      return { option: "--origin URL", read: readOrigin };
    case "ssh":
      return { option: "--host-key LINE", read: readHostKey };
    case "hmac":
      return { option: "--pack NAME", read: readPack };
  }
}

function readPack(place: string): string {
  return PACK.test(place) ? place : invalid("A callback secret is bound to the name of a pack.");
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}
