import type { JsonValue } from "../../../kernel/json.ts";

const PLAIN = /^[A-Za-z][A-Za-z0-9_]*$/;
/** Words that some reader of YAML takes for something else than text. */
const SPOKEN = /^(?:true|false|null|yes|no|on|off|y|n|nan|inf)$/i;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value on one line of YAML, quoted wherever a reader could take the text for anything but itself. */
export function writeFlow(value: JsonValue): string {
  if (typeof value === "string") return writeText(value);
  if (value === null || typeof value !== "object") return String(value);
  if (isList(value)) return `[${value.map(writeFlow).join(", ")}]`;
  const members = Object.entries(value).map(([name, member]) => `${writeText(name)}: ${writeFlow(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

/** A comment is one line, whatever the document put into its texts. */
export function writeComment(text: string): string {
  return `# ${cleanText(text)}`;
}

/** One line without anything that hides or moves: what a reviewer sees is all there is. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll(HIDDEN, " ").replaceAll(/\s+/g, " ").trim();
}

/** Whether text can stand in a pack as it is, readable and unchanged. */
export function isReadable(text: string): boolean {
  return text.isWellFormed() && text.search(HIDDEN) < 0;
}

/** Whether the pack's reader takes a number in this spelling. */
export function isPlainNumber(value: number): boolean {
  return /^(?:0|-?[1-9]\d*|-?(?:0|[1-9]\d*)\.\d+)$/.test(String(value));
}

function writeText(text: string): string {
  return PLAIN.test(text) && !SPOKEN.test(text) ? text : JSON.stringify(text);
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
