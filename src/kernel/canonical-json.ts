import { createHash, hash } from "node:crypto";
import type { Brand } from "./brand.ts";
import { Fault } from "./failure.ts";
import type { JsonValue } from "./json.ts";

/** `sha256:<hex>` over RFC 8785 canonical JSON. */
export type Digest = Brand<string, "Digest">;

/** RFC 8785: members sorted by UTF-16 code units, ECMAScript numbers, no white space. Lone surrogates have no form. */
export function canonicalJson(value: JsonValue): string {
  switch (typeof value) {
    case "string":
      return canonicalString(value);
    case "number":
      if (!Number.isFinite(value)) throw new Fault("canonical JSON has no form for a number that is not finite");
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "object":
      return value === null ? "null" : canonicalComposite(value);
  }
  throw new Fault(`canonical JSON has no form for ${typeof value}`);
}

export function digestText(text: string): Digest {
  return `sha256:${hash("sha256", text, "hex")}` as Digest;
}

export function digestBytes(bytes: Uint8Array): Digest {
  return `sha256:${hash("sha256", bytes, "hex")}` as Digest;
}

/** The digest of bytes that come one piece after the other. */
export function digestStream(): { add(bytes: Uint8Array): void; done(): Digest } {
  const sum = createHash("sha256");
  return { add: (bytes) => void sum.update(bytes), done: () => `sha256:${sum.digest("hex")}` as Digest };
}

export function digestJson(value: JsonValue): Digest {
  return digestText(canonicalJson(value));
}

/** Printable ASCII without a quotation mark or a backslash stands for itself: nearly all names and most texts do. */
const PLAIN = /^[ !#-[\]-~]*$/;

function canonicalString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`;
  if (!text.isWellFormed()) throw new Fault("canonical JSON has no form for a lone surrogate");
  return JSON.stringify(text);
}

function canonicalComposite(value: Exclude<JsonValue, null | boolean | number | string>): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  let members = "";
  for (const name of sortedNames(value)) {
    const member = (value as { readonly [name: string]: JsonValue })[name];
    if (member === undefined) continue;
    members += `${members === "" ? "" : ","}${canonicalString(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** Both compare UTF-16 code units, which is the order RFC 8785 asks for. Looking is far cheaper than sorting. */
function sortedNames(value: object): string[] {
  const names = Object.keys(value);
  for (let at = 1; at < names.length; at++) if ((names[at - 1] ?? "") > (names[at] ?? "")) return names.sort();
  return names;
}
