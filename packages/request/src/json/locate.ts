import { appendPointer } from "../pointer.ts";

interface Level {
  readonly path: string;
  readonly isArray: boolean;
  index: number;
  name: string;
  /** Whether the next string in this object is a member name. */
  naming: boolean;
}

/**
 * The JSON Pointer of the value at `position`, in a text whose prefix up to there is known to be grammatical. Only a
 * refusal walks the text again, so that parsing itself keeps no paths.
 */
export function locate(text: string, position: number): string {
  const levels: Level[] = [];
  let at = 0;
  while (at < position) at = step(text, at, position, levels);
  const level = levels.at(-1);
  return level === undefined ? "" : pathOf(level);
}

function step(text: string, at: number, end: number, levels: Level[]): number {
  const level = levels.at(-1);
  switch (text.charAt(at)) {
    case "{":
    case "[": {
      const isArray = text.charAt(at) === "[";
      levels.push({ path: level === undefined ? "" : pathOf(level), isArray, index: 0, name: "", naming: !isArray });
      return at + 1;
    }
    case "}":
    case "]":
      levels.pop();
      return at + 1;
    case ",":
      if (level !== undefined) {
        level.index++;
        level.naming = !level.isArray;
      }
      return at + 1;
    case '"':
      return stepString(text, at, end, level);
  }
  return at + 1;
}

function stepString(text: string, at: number, end: number, level: Level | undefined): number {
  let close = at + 1;
  while (close < end && text.charAt(close) !== '"') close += text.charAt(close) === "\\" ? 2 : 1;
  if (close >= end) return end;
  if (level?.naming) {
    level.name = JSON.parse(text.slice(at, close + 1)) as string;
    level.naming = false;
  }
  return close + 1;
}

/** Before its first name is read an object's trouble is its own. */
function pathOf(level: Level): string {
  if (level.isArray) return `${level.path}/${level.index}`;
  return level.naming ? level.path : appendPointer(level.path, level.name);
}
