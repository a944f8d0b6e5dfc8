import { hash, type KeyObject } from "node:crypto";
import { isSignedBy, rawPublicOf, signBytes } from "../keys/raw.ts";

/** The signed note of C2SP (c2sp.org/signed-note) with Ed25519 signatures. */
export interface SignedNote {
  /** Ends with a newline; this is what is signed. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

export interface NoteSignature {
  readonly name: string;
  readonly keyHash: Buffer;
  readonly signature: Buffer;
}

const ED25519 = 1;
const HASH_BYTES = 4;
const MAX_NOTE_BYTES = 65_536;
const MAX_SIGNATURES = 64;

export function signNote(text: string, name: string, key: KeyObject): string {
  const keyHash = noteKeyHash(name, rawPublicOf("ed25519", key));
  const blob = Buffer.concat([keyHash, signBytes(key, Buffer.from(text, "utf8"))]);
  return `${text}\n\u2014 ${name} ${blob.toString("base64")}\n`;
}

/** Undefined for text that is not a note with at least one signature line. */
export function parseNote(note: string): SignedNote | undefined {
  const at = note.lastIndexOf("\n\n");
  if (at < 0 || Buffer.byteLength(note, "utf8") > MAX_NOTE_BYTES || !note.endsWith("\n")) return undefined;
  const text = note.slice(0, at + 1);
  const lines = note.slice(at + 2, -1).split("\n");
  if (lines.length > MAX_SIGNATURES || hasControl(note)) return undefined;
  const signatures: NoteSignature[] = [];
  for (const line of lines) {
    const [dash, name, encoded, ...rest] = line.split(" ");
    if (dash !== "\u2014" || name === undefined || !isKeyName(name) || encoded === undefined || rest.length > 0)
      return undefined;
    const blob = Buffer.from(encoded, "base64");
    if (blob.length <= HASH_BYTES || blob.toString("base64") !== encoded) return undefined;
    signatures.push({ name, keyHash: blob.subarray(0, HASH_BYTES), signature: blob.subarray(HASH_BYTES) });
  }
  return { text, signatures };
}

/** True when one signature is by this key under the note's own key name. */
export function isNoteSignedBy(note: SignedNote, rawPublic: Buffer): boolean {
  const message = Buffer.from(note.text, "utf8");
  return note.signatures.some(
    ({ name, keyHash, signature }) =>
      keyHash.equals(noteKeyHash(name, rawPublic)) && isSignedBy(rawPublic, message, signature),
  );
}

export function noteKeyHash(name: string, rawPublic: Buffer): Buffer {
  return hash(
    "sha256",
    Buffer.concat([Buffer.from(`${name}\n`, "utf8"), Buffer.from([ED25519]), rawPublic]),
    "buffer",
  ).subarray(0, HASH_BYTES);
}

function isKeyName(name: string): boolean {
  return name.length > 0 && !/[\s+]/u.test(name);
}

function hasControl(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 && unit !== 0x0a) return true;
  }
  return false;
}
