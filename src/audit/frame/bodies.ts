import { readUint64, writeUint64 } from "./layout.ts";

export const LOG_ID_BYTES = 16;
export const KEY_ID_BYTES = 16;
export const HASH_BYTES = 32;
export const KEY_BYTES = 32;
export const SIGNATURE_BYTES = 64;
export const WRAPPED_SEED_BYTES = 48;
export const MAX_RECIPIENTS = 16;
export const MAX_NAME_BYTES = 64;

export const OPEN_REASONS = { genesis: 1, rotate: 2, boot: 3, crash: 4 } as const;
export type OpenReason = keyof typeof OPEN_REASONS;

/** A segment's seed, sealed for one recipient. */
export interface WrappedSeed {
  readonly keyId: Buffer;
  readonly encapsulated: Buffer;
  readonly sealed: Buffer;
}

export interface OpenBody {
  readonly logId: Buffer;
  readonly segment: number;
  readonly reason: OpenReason;
  readonly timeSeconds: number;
  readonly vaultGeneration: number;
  readonly vaultHash: Buffer;
  readonly firstSealKey: Buffer;
  /** Bytes of the predecessor that hold whole frames, and what stands after them. */
  readonly previousLength: number;
  readonly tornLength: number;
  readonly tornHash: Buffer;
  readonly commitment: Buffer;
  readonly recipients: readonly WrappedSeed[];
}

const OPEN_FIXED_BYTES =
  LOG_ID_BYTES + 8 + 1 + 1 + 2 + 8 + 8 + HASH_BYTES + KEY_BYTES + 8 + 8 + HASH_BYTES + HASH_BYTES;
const RECIPIENT_BYTES = KEY_ID_BYTES + KEY_BYTES + WRAPPED_SEED_BYTES;

export function encodeOpen(open: OpenBody): Buffer {
  const body = Buffer.alloc(OPEN_FIXED_BYTES + open.recipients.length * RECIPIENT_BYTES);
  let at = open.logId.copy(body, 0);
  writeUint64(body, open.segment, at);
  body.writeUInt8(OPEN_REASONS[open.reason], at + 8);
  body.writeUInt8(open.recipients.length, at + 9);
  writeUint64(body, open.timeSeconds, at + 12);
  writeUint64(body, open.vaultGeneration, at + 20);
  at += 28;
  at += open.vaultHash.copy(body, at);
  at += open.firstSealKey.copy(body, at);
  writeUint64(body, open.previousLength, at);
  writeUint64(body, open.tornLength, at + 8);
  at += 16;
  at += open.tornHash.copy(body, at);
  at += open.commitment.copy(body, at);
  for (const recipient of open.recipients) {
    at += recipient.keyId.copy(body, at);
    at += recipient.encapsulated.copy(body, at);
    at += recipient.sealed.copy(body, at);
  }
  return body;
}

export function decodeOpen(body: Buffer): OpenBody | undefined {
  if (body.length < OPEN_FIXED_BYTES) return undefined;
  const count = body.readUInt8(25);
  if (count > MAX_RECIPIENTS || body.length !== OPEN_FIXED_BYTES + count * RECIPIENT_BYTES) return undefined;
  const cut = cutter(body);
  const logId = cut(LOG_ID_BYTES);
  const segment = readUint64(cut(8), 0);
  const reasonByte = cut(4);
  const reason = (Object.keys(OPEN_REASONS) as OpenReason[]).find((name) => OPEN_REASONS[name] === reasonByte[0]);
  const timeSeconds = readUint64(cut(8), 0);
  const vaultGeneration = readUint64(cut(8), 0);
  const vaultHash = cut(HASH_BYTES);
  const firstSealKey = cut(KEY_BYTES);
  const previousLength = readUint64(cut(8), 0);
  const tornLength = readUint64(cut(8), 0);
  const tornHash = cut(HASH_BYTES);
  const commitment = cut(HASH_BYTES);
  const recipients: WrappedSeed[] = [];
  for (let index = 0; index < count; index++) {
    recipients.push({ keyId: cut(KEY_ID_BYTES), encapsulated: cut(KEY_BYTES), sealed: cut(WRAPPED_SEED_BYTES) });
  }
  if (segment === undefined || reason === undefined || reasonByte.readUInt16LE(2) !== 0) return undefined;
  if (timeSeconds === undefined || vaultGeneration === undefined) return undefined;
  if (previousLength === undefined || tornLength === undefined) return undefined;
  return {
    logId,
    segment,
    reason,
    timeSeconds,
    vaultGeneration,
    vaultHash,
    firstSealKey,
    previousLength,
    tornLength,
    tornHash,
    commitment,
    recipients,
  };
}

export interface SealBody {
  /** Frames since the last seal, or since the first frame of the segment, this one not counted. */
  readonly count: number;
  readonly timeSeconds: number;
  /** Zeros when no seal follows: the writer stopped. */
  readonly nextKey: Buffer;
}

export const SEAL_SIGNED_BYTES = 8 + 8 + KEY_BYTES;
export const SEAL_BODY_BYTES = SEAL_SIGNED_BYTES + SIGNATURE_BYTES;

/** The signed part; the signature follows it in the body. */
export function encodeSeal(seal: SealBody): Buffer {
  const body = Buffer.alloc(SEAL_SIGNED_BYTES);
  writeUint64(body, seal.count, 0);
  writeUint64(body, seal.timeSeconds, 8);
  seal.nextKey.copy(body, 16);
  return body;
}

export function decodeSeal(body: Buffer): (SealBody & { readonly signature: Buffer }) | undefined {
  if (body.length !== SEAL_BODY_BYTES) return undefined;
  const count = readUint64(body, 0);
  const timeSeconds = readUint64(body, 8);
  if (count === undefined || timeSeconds === undefined) return undefined;
  return {
    count,
    timeSeconds,
    nextKey: body.subarray(16, SEAL_SIGNED_BYTES),
    signature: body.subarray(SEAL_SIGNED_BYTES),
  };
}

/** What an operator signs: this live process wrote from its OPEN to this head, and this is where I left off before. */
export interface AttestBody {
  readonly openFrame: number;
  readonly openLink: Buffer;
  readonly headFrame: number;
  readonly headLink: Buffer;
  /** The head the operator remembers from before, or the end of the log before this OPEN. Zeros when there is none. */
  readonly beforeFrame: number;
  readonly beforeLink: Buffer;
  readonly timeSeconds: number;
  readonly operatorKey: Buffer;
  readonly operator: string;
}

export const ATTEST_FIXED_BYTES = 3 * (8 + HASH_BYTES) + 8 + KEY_BYTES + 1;

export function encodeAttest(attest: AttestBody): Buffer {
  const name = Buffer.from(attest.operator, "utf8");
  const body = Buffer.alloc(ATTEST_FIXED_BYTES + name.length);
  let at = 0;
  for (const [frame, link] of [
    [attest.openFrame, attest.openLink],
    [attest.headFrame, attest.headLink],
    [attest.beforeFrame, attest.beforeLink],
  ] as const) {
    writeUint64(body, frame, at);
    at += 8;
    at += link.copy(body, at);
  }
  writeUint64(body, attest.timeSeconds, at);
  at += 8;
  at += attest.operatorKey.copy(body, at);
  body.writeUInt8(name.length, at);
  name.copy(body, at + 1);
  return body;
}

export function decodeAttest(body: Buffer): (AttestBody & { readonly signature: Buffer }) | undefined {
  if (body.length < ATTEST_FIXED_BYTES + SIGNATURE_BYTES) return undefined;
  const nameLength = body.readUInt8(ATTEST_FIXED_BYTES - 1);
  if (nameLength > MAX_NAME_BYTES || body.length !== ATTEST_FIXED_BYTES + nameLength + SIGNATURE_BYTES)
    return undefined;
  const cut = cutter(body);
  const openFrame = readUint64(cut(8), 0);
  const openLink = cut(HASH_BYTES);
  const headFrame = readUint64(cut(8), 0);
  const headLink = cut(HASH_BYTES);
  const beforeFrame = readUint64(cut(8), 0);
  const beforeLink = cut(HASH_BYTES);
  const timeSeconds = readUint64(cut(8), 0);
  const operatorKey = cut(KEY_BYTES);
  cut(1);
  const operator = readName(cut(nameLength));
  const signature = cut(SIGNATURE_BYTES);
  if (openFrame === undefined || headFrame === undefined || beforeFrame === undefined) return undefined;
  if (timeSeconds === undefined || operator === undefined) return undefined;
  return {
    openFrame,
    openLink,
    headFrame,
    headLink,
    beforeFrame,
    beforeLink,
    timeSeconds,
    operatorKey,
    operator,
    signature,
  };
}

function readName(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Cuts a body into its fields, one after the other. */
export function cutter(source: Buffer): (length: number) => Buffer {
  let at = 0;
  return (length) => {
    const piece = source.subarray(at, at + length);
    at += length;
    return piece;
  };
}
