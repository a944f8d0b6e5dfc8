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

export interface Patterns {
  /** Enough to know whether any secret is there: one that contains another is found by that one. */
  readonly telling: readonly Pattern[];
  /** Of every secret that is long enough: what a longer one holds beside a shorter one shall not stay either. */
  readonly all: readonly Pattern[];
}

export function patternsOf(secrets: readonly Secret[]): Patterns {
  const scannable = distinct(secrets.filter((secret) => secret.byteLength >= SCANNABLE_SECRET_BYTES));
  const telling: Pattern[] = [];
  const further: Pattern[] = [];
  for (const secret of scannable) {
    const isFoundByAnother = scannable.some((other) => other !== secret && covers(other, secret));
    secret.use((bytes) => addForms(bytes, isFoundByAnother ? further : telling));
  }
  return { telling, all: [...telling, ...further] };
}

export function holdsSpace(secrets: readonly Secret[]): boolean {
  return secrets.some((secret) => secret.use((bytes) => bytes.includes(0x20)));
}

/** Of equal secrets the first. */
function distinct(secrets: readonly Secret[]): readonly Secret[] {
  return secrets.filter((secret, index) => !secrets.slice(0, index).some((before) => before.equals(secret)));
}

/** True when finding `part` finds `whole` too, in every form: a part that cuts a character in two has no UTF-16. */
function covers(part: Secret, whole: Secret): boolean {
  if (part.byteLength >= whole.byteLength) return false;
  return whole.use((outer) => part.use((inner) => outer.includes(inner) && (isUtf8(inner) || !isUtf8(outer))));
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
