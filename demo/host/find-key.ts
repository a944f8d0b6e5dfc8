import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** The files below these folders that hold the secret: as it is, in hex, or in base64 wherever it stands in the text. */
export function filesWith(
  secret: Buffer,
  folders: readonly string[],
): { readonly searched: number; found: readonly string[] } {
  const files = folders.flatMap(filesIn);
  const forms = [
    Buffer.from(secret),
    Buffer.from(secret.toString("hex")),
    Buffer.from(secret.toString("hex").toUpperCase()),
    ...(["base64", "base64url"] as const).flatMap((form) => [0, 1, 2].map((shift) => encodedAt(secret, shift, form))),
  ];
  try {
    const found = files.filter((file) => {
      const bytes = readFileSync(file);
      return forms.some((form) => bytes.includes(form));
    });
    return { searched: files.length, found };
  } finally {
    for (const form of forms) form.fill(0);
  }
}

/** What the encoding makes of these bytes after `shift` others, without the ends that depend on the neighbours. */
function encodedAt(secret: Buffer, shift: number, form: "base64" | "base64url"): Buffer {
  const text = Buffer.concat([Buffer.alloc(shift), secret]).toString(form);
  const whole = Math.floor(((shift + secret.length) * 8) / 6);
  return Buffer.from(text.slice(Math.ceil((shift * 8) / 6), whole));
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile() === true);
}
