import { Secret } from "../../kernel/secret.ts";

/** An AWS access key as it is sealed: ID:SECRET, or ID:SECRET:TOKEN for one that was handed out for a while. */
export interface AwsKeys {
  readonly id: string;
  readonly secret: Secret;
  readonly sessionToken: Secret | null;
}

const ID = /^[A-Z0-9]{16,128}$/;
/** The alphabet of base64 and base64url: nothing that could end a header field. */
const SECRET = /^[A-Za-z0-9+/=_-]+$/;
const SECRET_BYTES_MIN = 16;

/** Undefined where the bytes are no access key. The caller wipes what it gets. */
export function readAwsKeys(bytes: Buffer): AwsKeys | undefined {
  const first = bytes.indexOf(COLON);
  const second = bytes.indexOf(COLON, first + 1);
  const end = second === -1 ? bytes.length : second;
  if (first === -1 || !ID.test(bytes.toString("latin1", 0, first))) return undefined;
  if (!isSecret(bytes.subarray(first + 1, end))) return undefined;
  if (second !== -1 && !isSecret(bytes.subarray(second + 1))) return undefined;
  return {
    id: bytes.toString("latin1", 0, first),
    secret: Secret.take(Buffer.from(bytes.subarray(first + 1, end))),
    sessionToken: second === -1 ? null : Secret.take(Buffer.from(bytes.subarray(second + 1))),
  };
}

export function wipeAwsKeys({ secret, sessionToken }: AwsKeys): void {
  secret.wipe();
  sessionToken?.wipe();
}

const COLON = 0x3a;

function isSecret(bytes: Buffer): boolean {
  return bytes.length >= SECRET_BYTES_MIN && SECRET.test(bytes.toString("latin1"));
}
