import type { CliIo } from "./io.ts";
import { widthOf } from "./watch/measure.ts";

/** Narrower than this, a terminal breaks lines better than we would. */
const LEAST_COLUMNS = 24;

/**
 * Prints a sentence. On a terminal it is broken between words and goes on `hang` columns in, so that no word is cut where the window
 * ends; what is longer than a row stays whole, to be copied. Anywhere else it is one line.
 */
export function sayProse(io: Pick<CliIo, "out" | "columns">, text: string, hang = 0): void {
  const { columns = 0 } = io;
  if (columns < Math.max(LEAST_COLUMNS, 2 * hang)) {
    io.out(text);
    return;
  }
  // Blanks at the beginning are its place on the screen and no gap between words.
  const start = text.length - text.trimStart().length;
  let row = text.slice(0, start);
  let blank = true;
  for (const word of text.slice(start).split(" ")) {
    const more = blank ? word : ` ${word}`;
    if (!blank && widthOf(row) + widthOf(more) > columns) {
      io.out(row);
      row = " ".repeat(hang) + word;
    } else row += more;
    blank = false;
  }
  io.out(row);
}

/**
 * Deeper than it begins: a card is shown line by line, with what an agent wrote in it, and where such a line goes on nobody may take it
 * for the next one.
 */
export function hangOf(line: string): number {
  const start = line.length - line.trimStart().length;
  return start === 0 ? 2 : start + 6;
}
