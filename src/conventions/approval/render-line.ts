import { showText } from "../../kernel/display.ts";

const LABEL_COLUMNS = 19;
const FIELD_COLUMNS = 11;

/** A heading of ours and its lines. */
export function group(heading: string, lines: readonly string[]): readonly string[] {
  return [heading, ...lines];
}

/** `value` must be escaped already: this only places it behind its label. */
export function entry(label: string, value: string): string {
  return `  ${label.padEnd(LABEL_COLUMNS)} ${value}`;
}

/** As `entry`, in the part that has to fit one screen. */
export function field(label: string, value: string): string {
  return `  ${label.padEnd(FIELD_COLUMNS)} ${value}`;
}

export function fields(label: string, values: readonly string[]): readonly string[] {
  return values.map((value, index) => field(index === 0 ? label : "", value));
}

/** One value a line, the label before the first. Nothing for an empty list. */
export function list(label: string, values: readonly string[]): readonly string[] {
  return values.map((value, index) => entry(index === 0 ? label : "", value));
}

/** Somebody else's words: escaped, and in quotes that they cannot end. */
export function quote(text: string): string {
  return `"${showText(text).replaceAll('"', '\\"')}"`;
}
