/**
 * How much room text takes. Nobody agrees how wide most characters are: terminals, fonts and versions of Unicode differ.
 * So everything but ASCII counts as two columns, the most that any of it takes: a row can come out too short, but it
 * never runs over its end, where a terminal would wrap it to a place that we did not choose.
 */
export function widthOf(text: string): number {
  let width = 0;
  for (const point of text) width += widthOfPoint(point);
  return width;
}

function widthOfPoint(point: string): number {
  return point >= " " && point <= "~" ? 1 : 2;
}

/** Cuts a line into rows of at most `columns`. Every character is in exactly one row, blanks included. */
export function wrapText(text: string, first: number, rest: number): readonly string[] {
  const rows: string[] = [];
  let row = "";
  let width = 0;
  let room = first;
  for (const cluster of clustersOf(text)) {
    const more = widthOf(cluster);
    while (width + more > room && row !== "") {
      const cut = rowEnd(row, room);
      rows.push(row.slice(0, cut));
      row = row.slice(cut);
      width = widthOf(row);
      room = rest;
    }
    row += cluster;
    width += more;
  }
  rows.push(row);
  return rows;
}

/** After the last blank when that is near the end; else where the room ends. */
function rowEnd(row: string, room: number): number {
  const blank = row.lastIndexOf(" ") + 1;
  return blank > 0 && row.slice(0, blank).trim() !== "" && widthOf(row.slice(0, blank)) > room * 0.6
    ? blank
    : row.length;
}

/** A character with the marks that sit on it: a mark at the start of a row would sit on something of ours. */
function clustersOf(text: string): readonly string[] {
  const clusters: string[] = [];
  for (const point of text) {
    const last = clusters.length - 1;
    if (last >= 0 && /^\p{M}$/u.test(point)) clusters[last] += point;
    else clusters.push(point);
  }
  return clusters;
}

/** For lines that only point at something: what does not fit is cut, and that is said by two dots. */
export function clipText(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const cluster of clustersOf(text)) {
    width += widthOf(cluster);
    if (width > columns - 2) break;
    kept += cluster;
  }
  return columns < 2 ? "" : `${kept}..`;
}

/** Letters that a terminal may lay out from the right, moving their neighbours. */
export function runsRightToLeft(text: string): boolean {
  return RIGHT_TO_LEFT.test(text);
}

/** The first word that mixes Latin letters with look-alikes of another alphabet, or null. */
export function findMixedWord(text: string): string | null {
  if (/^[ -~]*$/.test(text)) return null;
  const words = text.split(/[^\p{L}\p{M}\p{N}]+/u);
  return words.find((word) => LATIN.test(word) && LOOKS_ALIKE.test(word)) ?? null;
}

const LATIN = /\p{Script=Latin}/u;
// Letters of scripts that nobody takes for Latin may stand beside it, as they do in Japanese.
const LOOKS_ALIKE =
  /(?!\p{Script=Latin}|\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Common})\p{L}/u;
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
