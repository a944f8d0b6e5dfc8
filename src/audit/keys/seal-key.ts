import { createPublicKey, type KeyObject } from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import { rawPublicOf, signBytes, takePrivateKey } from "./raw.ts";

const SEAL_LABEL = Buffer.from("gw-audit-v1 seal");
const ATTEST_LABEL = Buffer.from("gw-audit-v1 attest");
const KEY_BYTES = 32;

/** An Ed25519 key that signs one seal and is dropped. */
export interface SealKey {
  readonly rawPublic: Buffer;
  readonly privateKey: KeyObject;
}

export function makeSealKey(random: Random): SealKey {
  const privateKey = takePrivateKey("ed25519", random.bytes(KEY_BYTES));
  return { privateKey, rawPublic: rawPublicOf("ed25519", createPublicKey(privateKey)) };
}

/** What a seal signs. The link covers every byte before the frame, the header and fields are the seal's own. */
export function sealMessage(logId: Buffer, linkPrevious: Buffer, header: Buffer, fields: Buffer): Buffer {
  return Buffer.concat([SEAL_LABEL, logId, linkPrevious, header, fields]);
}

/** What an operator signs. Neither frame number nor link is known yet: the statement names the head it saw. */
export function attestMessage(logId: Buffer, flags: number, fields: Buffer): Buffer {
  return Buffer.concat([ATTEST_LABEL, logId, Buffer.from([flags]), fields]);
}

export function signSeal(key: SealKey, message: Buffer): Buffer {
  return signBytes(key.privateKey, message);
}
