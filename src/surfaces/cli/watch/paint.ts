import type { Line, Style } from "./line.ts";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?2004h\u001b[?7l\u001b[0m\u001b[2J";
const LEAVE = "\u001b[0m\u001b[?7h\u001b[?2004l\u001b[?25h\u001b[?1049l";

/** The other screen, no cursor, marks around what is pasted, and no wrapping at the edge. */
export const enterScreen = ENTER;
export const leaveScreen = LEAVE;
/** The bell, and the notices of terminals that have them (OSC 9, OSC 777). Others drop what they do not know. */
export function ringBell(text: string): string {
  const words = text.replace(/[^A-Za-z0-9 ]/g, "");
  return `\u0007\u001b]9;gw: ${words}\u001b\\\u001b]777;notify;gw;${words}\u001b\\`;
}

const looks: Readonly<Record<Style, string>> = {
  plain: "",
  bar: "\u001b[7m",
  chosen: "\u001b[1m",
  strong: "\u001b[1m",
  warning: "\u001b[1;33m",
  quiet: "\u001b[2m",
  added: "\u001b[32m",
  removed: "\u001b[31m",
};

/** What to write so that `lines` stand on a screen that shows `before`; null before draws everything. */
export function paintLines(lines: readonly Line[], before: readonly Line[] | null, color: boolean): string {
  let out = "";
  for (const [index, line] of lines.entries()) {
    const old = before?.[index];
    if (old !== undefined && old.text === line.text && old.style === line.style) continue;
    const look = color ? looks[line.style] : "";
    const body = look === "" ? line.text : `${look}${line.text}\u001b[0m`;
    // Cleared before it is written: after a full row the cursor still stands on its last character.
    out += `\u001b[${index + 1};1H\u001b[2K${body}`;
  }
  // A screen that was written on by others is whole again after a full drawing.
  return before === null ? `\u001b[0m\u001b[?7l${out}` : out;
}
