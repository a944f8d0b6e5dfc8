import { defaults } from "../kernel/defaults.ts";
import { Fault } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import type { HttpLoan } from "./lent.ts";
import type { CredentialEntry } from "./vault.ts";

/** The header that carries a secret, in buffers that `release` wipes. Takes ownership of `secret`. */
export function httpLoan(entry: CredentialEntry, secret: Secret): HttpLoan {
  const header = headerOf(entry, secret);
  return {
    label: entry.label,
    ...header,
    release() {
      header.headerValue.wipe();
      for (const one of header.secrets) one.wipe();
      secret.wipe();
    },
  };
}

function headerOf(entry: CredentialEntry, secret: Secret): Pick<HttpLoan, "headerName" | "headerValue" | "secrets"> {
  switch (entry.kind) {
    case "bearer":
      return { headerName: "authorization", headerValue: prefixed("Bearer ", secret), secrets: [secret] };
    case "header":
      return { headerName: entry.headerName ?? "", headerValue: secret, secrets: [secret] };
    case "basic":
      return { headerName: "authorization", headerValue: basicValue(secret), secrets: basicSecrets(secret) };
    case "ssh":
    case "hmac":
      throw new Fault("this kind of credential has no header");
  }
}

function prefixed(prefix: string, secret: Secret): Secret {
  return secret.use((bytes) => Secret.take(Buffer.concat([Buffer.from(prefix), bytes])));
}

function basicValue(secret: Secret): Secret {
  // Base64 by hand: `toString("base64")` would leave a string in the heap that cannot be wiped.
  return secret.use((bytes) => Secret.take(base64Bytes(Buffer.from("Basic "), bytes)));
}

/** The pair and each half long enough to be told from ordinary text. */
function basicSecrets(secret: Secret): readonly Secret[] {
  return secret.use((bytes) => {
    const colon = bytes.indexOf(0x3a);
    const halves = [bytes.subarray(0, colon), bytes.subarray(colon + 1)];
    const long = halves.filter((half) => half.length >= defaults.secretBytesMin);
    return [secret, ...long.map((half) => Secret.take(Buffer.from(half)))];
  });
}

const BASE64 = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const PAD = 0x3d;

function base64Bytes(prefix: Buffer, bytes: Buffer): Buffer {
  const text = Buffer.alloc(prefix.length + 4 * Math.ceil(bytes.length / 3), PAD);
  prefix.copy(text);
  let at = prefix.length;
  for (let index = 0; index < bytes.length; index += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(index, index + 3);
    const digits = [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63];
    const used = Math.min(bytes.length - index, 3) + 1;
    for (const digit of digits.slice(0, used)) text[at++] = BASE64[digit] ?? PAD;
    at += 4 - used;
  }
  return text;
}
