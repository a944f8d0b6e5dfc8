import type { Secret } from "../../kernel/secret.ts";

/** A shorter secret would be found in clean text by chance, so it is not looked for; the vault should not seal one. */
export const SCANNABLE_SECRET_BYTES = 6;

export type EchoForm = "plain" | "hex" | "base64" | "base64url";

/** Bytes whose presence means that the secret is there in this form. */
export interface Pattern {
  readonly form: EchoForm;
  readonly bytes: Buffer;
}

/** Every pattern of every secret that is long enough. A secret that contains another needs none of its own. */
export function patternsOf(secrets: readonly Secret[]): readonly Pattern[] {
  const patterns: Pattern[] = [];
  for (const secret of smallest(secrets)) secret.use((bytes) => patterns.push(...formsOf(bytes)));
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

function formsOf(secret: Buffer): readonly Pattern[] {
  const hex = secret.toString("hex");
  const patterns: Pattern[] = [
    { form: "plain", bytes: Buffer.from(secret) },
    { form: "hex", bytes: Buffer.from(hex, "latin1") },
  ];
  const upper = hex.toUpperCase();
  if (upper !== hex) patterns.push({ form: "hex", bytes: Buffer.from(upper, "latin1") });
  for (const offset of [0, 1, 2]) {
    const standard = base64At(secret, offset);
    const forUrl = standard.replaceAll("+", "-").replaceAll("/", "_");
    patterns.push({ form: "base64", bytes: Buffer.from(standard, "latin1") });
    if (forUrl !== standard) patterns.push({ form: "base64url", bytes: Buffer.from(forUrl, "latin1") });
  }
  return patterns;
}

/**
 * The characters that the secret alone decides when `offset` bytes (modulo 3) stand before it: those at its edges
 * share bits with unknown neighbours and are left out.
 */
function base64At(secret: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), secret]).toString("base64");
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + secret.byteLength) * 8) / 6));
}
