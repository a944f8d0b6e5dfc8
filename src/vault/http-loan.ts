import { defaults } from "../kernel/defaults.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { readAwsKeys } from "./aws/keys.ts";
import { presignForAws, signForAws } from "./aws/sign.ts";
import { derivedAnew, type SigningKeys } from "./aws/signing-keys.ts";
import { base64Bytes } from "./base64.ts";
import { refuseEntry } from "./entry.ts";
import type { HttpLoan, ToSign } from "./lent.ts";
import { signMessage } from "./signature/sign.ts";
import type { CredentialEntry } from "./vault.ts";

/** The header that carries a secret, in buffers that `release` wipes. Takes ownership of `secret`. */
export function httpLoan(
  entry: CredentialEntry,
  secret: Secret,
  toSign: ToSign | null,
  signing = derivedAnew,
): HttpLoan {
  const header = headerOrWipe(entry, secret, toSign, signing);
  return {
    label: entry.label,
    ...header,
    release() {
      header.headerValue.wipe();
      for (const { value } of [...(header.further ?? []), ...(header.query ?? [])]) value.wipe();
      for (const one of header.secrets) one.wipe();
      secret.wipe();
    },
  };
}

function headerOrWipe(entry: CredentialEntry, secret: Secret, toSign: ToSign | null, signing: SigningKeys): Header {
  try {
    return headerOf(entry, secret, toSign, signing);
  } catch (error) {
    secret.wipe();
    throw error;
  }
}

type Header = Pick<HttpLoan, "headerName" | "headerValue" | "further" | "query" | "secrets">;

function headerOf(entry: CredentialEntry, secret: Secret, toSign: ToSign | null, signing: SigningKeys): Header {
  if (signatureBy(entry.kind) !== (toSign?.scheme ?? null)) {
    const asked = toSign === null ? "a credential that is sent" : `a key that signs (${toSign.scheme})`;
    throw new Denied(
      "credential_not_bound",
      `${entry.label} is a ${entry.kind} credential, and its pack asks for ${asked}.`,
    );
  }
  switch (entry.kind) {
    case "bearer":
      return { headerName: "authorization", headerValue: prefixed("Bearer ", secret), secrets: [secret] };
    case "header":
      return { headerName: entry.headerName ?? "", headerValue: secret, secrets: [secret] };
    case "basic":
      return { headerName: "authorization", headerValue: basicValue(secret), secrets: basicSecrets(secret) };
    case "aws-sigv4":
    case "aws-role":
      return awsHeader(entry.label, secret, toSign, signing);
    case "http-signature":
      return signatureHeaders(entry, secret, toSign);
    case "mtls":
      // The connection shows who it is: there is nothing to send.
      return { ...noHeader(), secrets: [] };
    case "oauth2":
    case "jwt-bearer":
    case "github-app":
    case "ssh":
    case "hmac":
      throw new Fault("this kind of credential has no header");
  }
}

function signatureBy(kind: CredentialEntry["kind"]): "aws-sigv4" | "http-signature" | null {
  if (kind === "aws-role") return "aws-sigv4";
  return kind === "aws-sigv4" || kind === "http-signature" ? kind : null;
}

function noHeader(): Pick<HttpLoan, "headerName" | "headerValue"> {
  return { headerName: "", headerValue: Secret.take(Buffer.alloc(0)) };
}

/** A short-lived token, as the bearer that it is, or with the proof that we have the key it is bound to. Takes a copy. */
export function tokenLoan(label: string, token: Secret, proof: Secret | null): HttpLoan {
  const headerValue = prefixed(proof === null ? "Bearer " : "DPoP ", token);
  const secret = token.copy();
  const release = (): void => {
    headerValue.wipe();
    secret.wipe();
    proof?.wipe();
  };
  const further = proof === null ? [] : [{ name: "dpop", value: proof }];
  return { label, headerName: "authorization", headerValue, further, secrets: [secret], release };
}

/**
 * The secret key signs and stays; what is looked for in the answer is the key and the session token, and a signature in the
 * query, which is good for whoever has the address.
 */
function awsHeader(label: string, secret: Secret, toSign: ToSign | null, signing: SigningKeys): Header {
  const keys = secret.use(readAwsKeys) ?? refuseEntry(label);
  if (toSign?.scheme !== "aws-sigv4") throw new Fault("nothing says what the signature is for");
  const secrets = [keys.secret, ...(keys.sessionToken === null ? [] : [keys.sessionToken])];
  const { expiresS } = toSign.scope;
  if (expiresS !== null) {
    const query = presignForAws(toSign, expiresS, keys, signing);
    const signature = query.filter(({ name }) => name === "X-Amz-Signature").map(({ value }) => value);
    return { ...noHeader(), query, secrets: [...secrets, ...signature] };
  }
  const [authorization, ...further] = signForAws(toSign, keys, signing);
  if (authorization === undefined) throw new Fault("a signature without a field");
  return { headerName: authorization.name, headerValue: authorization.value, further, secrets };
}

/** The key signs and stays: nothing that is sent is worth looking for in an answer. */
function signatureHeaders({ keyId }: CredentialEntry, secret: Secret, toSign: ToSign | null): Header {
  if (toSign?.scheme !== "http-signature" || keyId === null) throw new Fault("nothing says what the signature is for");
  const [signature, ...further] = signMessage(toSign, keyId, secret, toSign.nonce);
  if (signature === undefined) throw new Fault("a signature without a field");
  return { headerName: signature.name, headerValue: signature.value, further, secrets: [] };
}

export function prefixed(prefix: string, secret: Secret): Secret {
  return secret.use((bytes) => Secret.take(Buffer.concat([Buffer.from(prefix), bytes])));
}

export function basicValue(secret: Secret): Secret {
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
