/**
 * Everything an agent, a provider or a file system wrote is hostile when a person reads it. Text goes through here on
 * its way to any screen: nothing is dropped, what could act or hide is written out as `\u{…}`, and a backslash is
 * doubled so that no text can pretend to be an escape of ours.
 */

/** For prose and argument values: letters of every script stay readable, everything that moves or hides does not. */
export function showText(text: string): string {
  let shown = "";
  let marks = 0;
  let spaces = 0;
  const points = [...text];
  for (const [index, point] of points.entries()) {
    if (point > " " && point < "~" && point !== "\\") {
      shown += point;
      marks = spaces = 0;
      continue;
    }
    spaces = point === " " ? spaces + 1 : 0;
    marks = MARK.test(point) ? marks + 1 : 0;
    // A run of blanks can push the rest of a line out of sight, a pile of marks can overprint its neighbours.
    const edge = point === " " && (index === 0 || index === points.length - 1);
    const plain = point === " " ? spaces <= MAX_SPACES && !edge : READABLE.test(point) && !HIDDEN.test(point);
    const attached = marks === 0 || (marks <= MAX_MARKS && index > 0);
    if (point === "\\") shown += "\\\\";
    else if (plain && attached) shown += point;
    else shown += escapePoint(point);
  }
  return shown;
}

/** For names that decide something (hosts, labels, paths, identities): a look-alike letter must not pass for ASCII. */
export function showIdentifier(text: string): string {
  let shown = "";
  for (const point of showText(text)) shown += point > "~" ? escapePoint(point) : point;
  return shown;
}

/** For context that may be long and decides nothing. What is cut is said; arguments on a card never pass through here. */
export function showBounded(text: string, maxCharacters: number): string {
  const points = [...text];
  if (points.length <= maxCharacters) return showIdentifier(text);
  const left = points.length - maxCharacters;
  return `${showIdentifier(points.slice(0, maxCharacters).join(""))} [and ${left} more characters]`;
}

/**
 * The last look before a screen, for lines that are ours already: whatever slipped through, nothing that acts or hides is
 * written. Unlike showText it leaves backslashes and blanks, so that a line which passed before stays as it is.
 */
export function printable(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  let safe = "";
  for (const point of text) {
    const shown = point === " " || (READABLE.test(point) && !HIDDEN.test(point));
    safe += shown ? point : escapePoint(point);
  }
  return safe;
}

/**
 * The same for a line that may be a record (JSON leaves all of it as it is beyond the first controls): as JSON writes it out, so that
 * it stays the same record. What begins with an escape character of ours, such as colour, goes through.
 */
export function tameLine(line: string): string {
  return line.replaceAll(ACTS, writtenOut);
}

/** The same where nothing of ours begins with an escape character, as in what is said beside an answer: none goes through. */
export function tameAside(line: string): string {
  return line.replaceAll(CONTROLS, writtenOut).replaceAll(ACTS, writtenOut);
}

/** "1 card", "2 cards": a number and what is counted. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

const MAX_SPACES = 2;
const MAX_MARKS = 2;
const MARK = /^\p{M}$/u;
// Assigned and visible by general category: no controls, formats, surrogates, private use, unassigned or odd blanks.
const READABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u;
// Visible by category and yet blank or ignorable: fillers, variation selectors, the empty braille cell.
const HIDDEN = /^[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\u2800]$/u;
// Beyond the controls of ASCII: those that terminals obey as well, and what reorders, hides or breaks a line.
const ACTS = /[\u007f-\u009f\u2028\u2029\u2800\p{Cf}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/gu;
const CONTROLS = /\p{Cc}/gu;

/** As JSON writes out what it escapes. */
function writtenOut(point: string): string {
  const units = Array.from({ length: point.length }, (_, index) => point.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

function escapePoint(point: string): string {
  return `\\u{${(point.codePointAt(0) ?? 0).toString(16)}}`;
}
