import { createCipheriv, createDecipheriv, createHash, type KeyObject, verify } from "node:crypto";
import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync, writeSync } from "node:fs";
import { openSealed, sealFor } from "../../../audit/keys/hpke.ts";
import type { Random } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { keyIdOf, publicKeyOf, rawPublicOf } from "../../../vault/keys.ts";
import type { OperatorKeys } from "../../../vault/lineage.ts";

/**
 * A backup on disk. The vault's own file stands in clear, because an operator's keys are inside it; all else is sealed for
 * the operators, in chunks whose order and number cannot change, and signed by the one who made it.
 *
 *   "GWBACKUP1\n"  length:u32  header (JSON)  { length:u32  ciphertext  tag:16 } …  0:u32  signature:64
 */
export interface BackupHeader {
  readonly format: "gw.backup/v1";
  readonly made_at: string;
  /** Who made and signed it. */
  readonly by: string;
  readonly vault: string;
  readonly readers: readonly { readonly key_id: string; readonly encapsulated: string; readonly sealed: string }[];
}

const MAGIC = Buffer.from("GWBACKUP1\n", "latin1");
const INFO = Buffer.from("gw backup v1", "latin1");
const KEY_BYTES = 32;
const TAG_BYTES = 16;
const SIGNATURE_BYTES = 64;
const CHUNK_BYTES = 1_048_576;

export interface BackupMaker {
  readonly name: string;
  sign(bytes: Buffer): Buffer;
}

/** Writes the file whole, private and durable; a name that is taken is refused. Returns the digest that was signed. */
export function writeBackup(
  path: string,
  head: { readonly madeAt: string; readonly vault: string; readonly readers: readonly OperatorKeys[] },
  content: Iterable<Buffer>,
  maker: BackupMaker,
  random: Random,
): string {
  const key = random.bytes(KEY_BYTES);
  const readers = head.readers.map(({ readingKey }) => {
    const { encapsulated, sealed } = sealFor(publicKeyOf("x25519", readingKey), INFO, MAGIC, key, random);
    return {
      key_id: keyIdOf(readingKey),
      encapsulated: encapsulated.toString("base64"),
      sealed: sealed.toString("base64"),
    };
  });
  const header: BackupHeader = {
    format: "gw.backup/v1",
    made_at: head.madeAt,
    by: maker.name,
    vault: head.vault,
    readers,
  };
  const text = Buffer.from(JSON.stringify(header), "utf8");
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
  const digest = createHash("sha256");
  const put = (bytes: Buffer): void => {
    digest.update(bytes);
    for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done);
  };
  try {
    put(Buffer.concat([MAGIC, uint32(text.length), text]));
    let count = 0;
    for (const chunk of chunked(content)) {
      const cipher = createCipheriv("aes-256-gcm", key, nonceOf(count++));
      const sealed = Buffer.concat([cipher.update(chunk), cipher.final(), cipher.getAuthTag()]);
      put(Buffer.concat([uint32(sealed.length), sealed]));
    }
    put(uint32(0));
    const sum = digest.digest();
    const signature = maker.sign(signedBytes(sum));
    for (let done = 0; done < signature.length; ) done += writeSync(fd, signature, done);
    fsyncSync(fd);
    return `sha256:${sum.toString("hex")}`;
  } finally {
    key.fill(0);
    closeSync(fd);
  }
}

export interface OpenBackup {
  readonly header: BackupHeader;
  /** The content, chunk by chunk, and at the end whether the signature is by this key: Denied `backup_malformed` if not. */
  read(readingKey: KeyObject, signerKey: Buffer): Generator<Buffer, string>;
  close(): void;
}

export function openBackup(path: string): OpenBackup {
  const fd = openBounded(path);
  try {
    const size = fstatSync(fd).size;
    const head = readAt(fd, 0, MAGIC.length + 4);
    if (!head.subarray(0, MAGIC.length).equals(MAGIC)) malformed(path, "it does not begin as a backup does");
    const length = head.readUInt32LE(MAGIC.length);
    if (length > defaults.backupHeaderBytes || length > size) malformed(path, "its header is too long");
    const text = readAt(fd, head.length, length);
    const header = readHeader(path, text);
    const start = createHash("sha256").update(head).update(text);
    return {
      header,
      *read(readingKey, signerKey) {
        const digest = start.copy();
        const key = keyFor(path, header, readingKey);
        let at = head.length + length;
        try {
          for (let count = 0; ; count++) {
            const prefix = readAt(fd, at, 4);
            digest.update(prefix);
            const sealedLength = prefix.readUInt32LE(0);
            at += 4;
            if (sealedLength === 0) break;
            if (sealedLength < TAG_BYTES || sealedLength > CHUNK_BYTES + TAG_BYTES)
              malformed(path, "a part is too long");
            const sealed = readAt(fd, at, sealedLength);
            digest.update(sealed);
            at += sealedLength;
            yield openChunk(path, key, count, sealed);
          }
        } finally {
          key.fill(0);
        }
        const sum = digest.digest();
        const signature = readAt(fd, at, SIGNATURE_BYTES);
        if (at + SIGNATURE_BYTES !== size) malformed(path, "something follows its end");
        if (!verify(null, signedBytes(sum), publicKeyOf("ed25519", signerKey), signature)) {
          malformed(path, "it is not signed by the operator that it names");
        }
        return `sha256:${sum.toString("hex")}`;
      },
      close: () => closeSync(fd),
    };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function openBounded(path: string): number {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    throw new Denied("backup_malformed", `There is no backup that can be read at ${path}.`);
  }
  if (fstatSync(fd).isFile()) return fd;
  closeSync(fd);
  throw new Denied("backup_malformed", `${path} is not a plain file.`);
}

function readHeader(path: string, text: Buffer): BackupHeader {
  try {
    const header = JSON.parse(text.toString("utf8")) as BackupHeader | null;
    if (header?.format === "gw.backup/v1" && typeof header.vault === "string" && isReaders(header.readers))
      return header;
  } catch {
    // Told below.
  }
  return malformed(path, "its header is not one of this version");
}

function isReaders(given: unknown): boolean {
  const isText = (value: unknown): boolean => typeof value === "string";
  const isReader = (one: Partial<BackupHeader["readers"][number]> | null): boolean =>
    isText(one?.key_id) && isText(one?.encapsulated) && isText(one?.sealed);
  return Array.isArray(given) && given.every(isReader);
}

function keyFor(path: string, { readers }: BackupHeader, readingKey: KeyObject): Buffer {
  const mine = keyIdOf(rawPublicOf(readingKey));
  const wrapped = readers.find(({ key_id }) => key_id === mine);
  const key =
    wrapped === undefined
      ? undefined
      : openSealed(
          readingKey,
          { encapsulated: Buffer.from(wrapped.encapsulated, "base64"), sealed: Buffer.from(wrapped.sealed, "base64") },
          INFO,
          MAGIC,
        );
  return key ?? malformed(path, "it is not sealed for this operator");
}

function openChunk(path: string, key: Buffer, count: number, sealed: Buffer): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(count), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
  } catch {
    return malformed(path, `part ${count} was changed`);
  }
}

function* chunked(content: Iterable<Buffer>): Generator<Buffer> {
  let waiting: Buffer[] = [];
  let length = 0;
  for (const piece of content) {
    for (let at = 0; at < piece.length; ) {
      const part = piece.subarray(at, at + CHUNK_BYTES - length);
      waiting.push(Buffer.from(part));
      length += part.length;
      at += part.length;
      if (length === CHUNK_BYTES) {
        yield Buffer.concat(waiting);
        waiting = [];
        length = 0;
      }
    }
  }
  if (length > 0) yield Buffer.concat(waiting);
}

function readAt(fd: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  for (let done = 0; done < length; ) {
    const got = readSync(fd, bytes, done, length - done, position + done);
    if (got === 0) throw new Denied("backup_malformed", "The backup ends too soon: it was cut. Use another one.");
    done += got;
  }
  return bytes;
}

function signedBytes(sum: Buffer): Buffer {
  return Buffer.concat([Buffer.from("gw backup v1\0", "latin1"), sum]);
}

function nonceOf(count: number): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32LE(count, 0);
  return nonce;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function malformed(path: string, why: string): never {
  throw new Denied("backup_malformed", `${path} cannot be used: ${why}. Use another backup.`);
}
