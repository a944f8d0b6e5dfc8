import { createPrivateKey, type KeyObject } from "node:crypto";
import type { Secret } from "../../kernel/secret.ts";
import { encodeSshPublicKey } from "../../kernel/ssh-key.ts";
import { readSsh } from "../../kernel/ssh-wire.ts";
import { deriveInThread } from "./bcrypt-thread.ts";
import { KEY_FILE_CIPHERS, type KeyFileCipher } from "./cipher.ts";
import { readPrivateSection } from "./private-section.ts";
import { keyMalformed, keyMismatch, keyPassphraseNeeded, keyPassphraseWrong, keyUnsupported } from "./refuse.ts";

const BEGIN = "-----BEGIN OPENSSH PRIVATE KEY-----";
const END = "-----END OPENSSH PRIVATE KEY-----";
const MAGIC = Buffer.from("openssh-key-v1\0", "latin1");
const MAX_ROUNDS = 2_048;
const MAX_SALT_BYTES = 64;

export function isOpenSshKey(file: Buffer): boolean {
  return file.indexOf(BEGIN) >= 0;
}

/** The one key of an `openssh-key-v1` file, its public half compared with both copies in the file. */
export async function readOpenSshKey(file: Secret, passphrase: Secret | undefined): Promise<KeyObject> {
  const bytes = file.use(unarmour);
  try {
    const envelope = readEnvelope(bytes);
    const section = await openSection(envelope, passphrase);
    try {
      const { der, type, publicBlob } = readPrivateSection(section) ?? keyMalformed();
      const key = parseDer(der, type);
      const derived = encodeSshPublicKey(key);
      if (!publicBlob.equals(envelope.publicBlob) || derived?.equals(publicBlob) !== true) keyMismatch();
      return key;
    } finally {
      section.fill(0);
    }
  } finally {
    bytes.fill(0);
  }
}

interface Envelope {
  readonly cipher: KeyFileCipher | null;
  readonly kdf: { readonly salt: Buffer; readonly rounds: number } | null;
  readonly publicBlob: Buffer;
  readonly sealed: Buffer;
  readonly tag: Buffer;
}

function readEnvelope(bytes: Buffer): Envelope {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) keyMalformed();
  const body = bytes.subarray(MAGIC.length);
  const names = readPrefix(body);
  const cipher = names.cipher === "none" ? null : (KEY_FILE_CIPHERS.get(names.cipher) ?? unsupportedCipher());
  if ((names.kdf === "none") !== (cipher === null)) keyMalformed();
  if (cipher !== null && names.kdf !== "bcrypt") keyUnsupported("The key derivation of this key file");
  // A tag stands behind the last string, outside every length: it is cut off before the strings are read.
  const end = Math.max(0, body.length - (cipher?.tagBytes ?? 0));
  const read = readSsh(body.subarray(0, end), (reader) => {
    reader.string();
    reader.string();
    const options = reader.string();
    const keys = reader.u32();
    return { options, keys, publicBlob: reader.string(), sealed: reader.string() };
  });
  if (read === undefined || read.keys !== 1 || read.sealed.length % (cipher?.blockBytes ?? 8) !== 0)
    return keyMalformed();
  const { publicBlob, sealed, options } = read;
  const kdf = cipher === null ? null : readKdf(options);
  return { cipher, kdf, publicBlob, sealed, tag: body.subarray(end) };
}

function readPrefix(body: Buffer): { readonly cipher: string; readonly kdf: string } {
  const found = { cipher: "", kdf: "" };
  readSsh(body, (reader) => {
    found.cipher = reader.text();
    found.kdf = reader.text();
    return undefined;
  });
  return found;
}

function readKdf(options: Buffer): { readonly salt: Buffer; readonly rounds: number } {
  const kdf = readSsh(options, (reader) => ({ salt: reader.string(), rounds: reader.u32() })) ?? keyMalformed();
  if (kdf.salt.length === 0 || kdf.salt.length > MAX_SALT_BYTES) keyMalformed();
  if (kdf.rounds < 1 || kdf.rounds > MAX_ROUNDS) keyUnsupported(`A key file with ${kdf.rounds} rounds of bcrypt`);
  return kdf;
}

async function openSection({ cipher, kdf, sealed, tag }: Envelope, passphrase: Secret | undefined): Promise<Buffer> {
  if (cipher === null || kdf === null) return checksAgree(sealed) ? Buffer.from(sealed) : keyMalformed();
  if (passphrase === undefined || passphrase.byteLength === 0) return keyPassphraseNeeded();
  const derived = await deriveInThread(passphrase, kdf.salt, kdf.rounds, cipher.keyBytes + cipher.ivBytes);
  const section = cipher.open(derived.subarray(0, cipher.keyBytes), derived.subarray(cipher.keyBytes), sealed, tag);
  derived.fill(0);
  return section !== undefined && checksAgree(section) ? section : keyPassphraseWrong();
}

/** Two equal random words open the private section: they differ when it was deciphered with a wrong key. */
function checksAgree(section: Buffer): boolean {
  return section.length >= 8 && section.readUInt32BE(0) === section.readUInt32BE(4);
}

function parseDer(der: Buffer, type: "pkcs8" | "pkcs1" | "sec1"): KeyObject {
  try {
    return createPrivateKey({ key: der, format: "der", type });
  } catch {
    return keyMismatch();
  } finally {
    der.fill(0);
  }
}

function unarmour(file: Buffer): Buffer {
  const text = file.toString("latin1").trim();
  const body = text.startsWith(BEGIN) && text.endsWith(END) ? text.slice(BEGIN.length, -END.length) : keyMalformed();
  const base64 = body.replace(/[\r\n]/g, "");
  const bytes = Buffer.from(base64, "base64");
  return bytes.length > 0 && bytes.toString("base64") === base64 ? bytes : keyMalformed();
}

function unsupportedCipher(): never {
  return keyUnsupported("The cipher of this key file");
}
