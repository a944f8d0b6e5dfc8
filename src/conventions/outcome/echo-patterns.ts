import { isUtf8 } from "node:buffer";
import type { Secret } from "../../kernel/secret.ts";

/** A shorter secret would be found in clean text by chance, so it is not looked for; the vault should not seal one. */
export const SCANNABLE_SECRET_BYTES = 6;

export type EchoForm = "plain" | "utf16" | "hex" | "base64" | "base64url";

/** A text whose presence means that the secret is there in this form; each character is one byte. */
export interface Pattern {
  readonly form: EchoForm;
  readonly needle: string;
  /** Some encoder writes a character of it as an escape, so it is also looked for in decoded text. */
  readonly escapable: boolean;
}

/** Every pattern of every secret that is long enough. A secret that contains another needs none of its own. */
export function patternsOf(secrets: readonly Secret[]): readonly Pattern[] {
  const patterns: Pattern[] = [];
  for (const secret of smallest(secrets)) secret.use((bytes) => addForms(bytes, patterns));
  return patterns;
}

export function holdsSpace(secrets: readonly Secret[]): boolean {
  return secrets.some((secret) => secret.use((bytes) => bytes.includes(0x20)));
}

function smallest(secrets: readonly Secret[]): readonly Secret[] {
  const scannable = secrets.filter((secret) => secret.byteLength >= SCANNABLE_SECRET_BYTES);
  if (scannable.length < 2) return scannable;
  return scannable.filter(
    (secret, index) => !scannable.some((other, at) => at !== index && covers(other, at, secret, index)),
  );
}

/** True when finding `part` finds `whole` too; of two equal secrets the first stays. */
function covers(part: Secret, partIndex: number, whole: Secret, wholeIndex: number): boolean {
  if (part.byteLength > whole.byteLength) return false;
  if (part.byteLength === whole.byteLength && partIndex > wholeIndex) return false;
  return whole.use((outer) => part.use((inner) => outer.includes(inner)));
}

function addForms(secret: Buffer, patterns: Pattern[]): void {
  const hex = secret.toString("hex");
  const upper = hex.toUpperCase();
  patterns.push({ form: "plain", needle: secret.toString("latin1"), escapable: true });
  if (isUtf8(secret)) addWide(secret, patterns);
  patterns.push({ form: "hex", needle: hex, escapable: false });
  if (upper !== hex) patterns.push({ form: "hex", needle: upper, escapable: false });
  const padded = Buffer.concat([TWO_BYTES, secret]);
  for (let offset = 0; offset <= 2; offset++) {
    const standard = base64At(padded, offset);
    const escapable = standard.includes("+") || standard.includes("/");
    patterns.push({ form: "base64", needle: standard, escapable });
    if (!escapable) continue;
    const forUrl = standard.replaceAll("+", "-").replaceAll("/", "_");
    patterns.push({ form: "base64url", needle: forUrl, escapable: false });
  }
  padded.fill(0);
}

function addWide(secret: Buffer, patterns: Pattern[]): void {
  // Without the outer zero bytes, so that it is found in either byte order.
  const wide = Buffer.from(secret.toString("utf8"), "utf16le");
  patterns.push({ form: "utf16", needle: wide.toString("latin1").replace(/\0$/, ""), escapable: false });
  if (/[^\0-\x7f]/.test(secret.toString("latin1")))
    patterns.push({ form: "utf16", needle: Buffer.from(wide).swap16().toString("latin1"), escapable: false });
  wide.fill(0);
}

const TWO_BYTES = Buffer.alloc(2);

/**
 * The characters that the secret alone decides when `offset` bytes (modulo 3) stand before it: those at its edges
 * share bits with unknown neighbours and are left out. `padded` is the secret after two bytes.
 */
function base64At(padded: Buffer, offset: number): string {
  const shifted = padded.subarray(2 - offset);
  return shifted.toString("base64").slice(Math.ceil((offset * 8) / 6), Math.floor((shifted.byteLength * 8) / 6));
}
