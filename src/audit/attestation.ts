import type { KeyObject } from "node:crypto";
import { Denied } from "../kernel/failure.ts";
import { type AttestBody, decodeAttest, encodeAttest, MAX_NAME_BYTES, SIGNATURE_BYTES } from "./frame/bodies.ts";
import { ATTEST_FLAG_EARLIER, ATTEST_FLAG_UNCLEAN } from "./frame/layout.ts";
import { isSignedBy, rawPublicOf, signBytes } from "./keys/raw.ts";
import { attestMessage } from "./keys/seal-key.ts";

/** What a live log offers for signature: its own OPEN, a seal it made since, and where the log stood before. */
export interface AttestationOffer {
  readonly logId: Buffer;
  readonly openFrame: number;
  readonly openLink: Buffer;
  readonly headFrame: number;
  readonly headLink: Buffer;
  readonly beforeFrame: number;
  readonly beforeLink: Buffer;
  /** True when the writer before this one did not stop cleanly: records may be missing at `beforeFrame`. */
  readonly unclean: boolean;
}

export interface Attestation extends AttestBody {
  readonly flags: number;
  readonly signature: Buffer;
}

/** In the operator's own process, after it has seen that the log extends the head it remembers. */
export function signAttestation(
  offer: AttestationOffer,
  operator: string,
  approverKey: KeyObject,
  timeSeconds: number,
  /** Whether they vouch for the parts before that nobody attested, having been shown them. */
  earlier = false,
): Buffer {
  if (Buffer.byteLength(operator, "utf8") > MAX_NAME_BYTES) {
    throw new Denied("log_attestation_refused", `an operator's name has at most ${MAX_NAME_BYTES} bytes`);
  }
  const flags = (offer.unclean ? ATTEST_FLAG_UNCLEAN : 0) | (earlier ? ATTEST_FLAG_EARLIER : 0);
  const fields = encodeAttest({ ...offer, timeSeconds, operator, operatorKey: rawPublicOf("ed25519", approverKey) });
  const signature = signBytes(approverKey, attestMessage(offer.logId, flags, fields));
  return Buffer.concat([Buffer.from([flags]), fields, signature]);
}

/** The statement, when its signature is right for the key it names. Who that key belongs to is for the caller to know. */
export function readAttestation(logId: Buffer, flags: number, body: Buffer): Attestation | undefined {
  const attest = decodeAttest(body);
  if (attest === undefined) return undefined;
  const message = attestMessage(logId, flags, body.subarray(0, body.length - SIGNATURE_BYTES));
  return isSignedBy(attest.operatorKey, message, attest.signature) ? { ...attest, flags } : undefined;
}
