import type { Digest } from "../../../kernel/canonical-json.ts";
import type { JsonValue } from "../../../kernel/json.ts";

/** A place in a text, counted from one, as editors count. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One document as it was read: plain data, and where each object and array of it stood in the text. */
export interface Source {
  readonly name: string;
  readonly format: "json" | "yaml";
  readonly digest: Digest;
  readonly bytes: number;
  readonly root: JsonValue;
  positionOf(node: object): Position | undefined;
}

export interface ReadLimits {
  readonly bytes: number;
  readonly depth: number;
  readonly nodes: number;
}

/** Raised by the two readers; `readDocument` turns it into a denial that names the file and the place. */
export class SyntaxTrouble extends Error {
  override readonly name = "SyntaxTrouble";
  readonly offset: number;
  readonly kind: "malformed" | "duplicate" | "too_deep" | "too_many";

  constructor(kind: SyntaxTrouble["kind"], offset: number, message: string) {
    super(message);
    this.kind = kind;
    this.offset = offset;
  }
}

/** Turns offsets into lines and columns; the table of line starts is made on the first question. */
export function createLocator(text: string): (offset: number) => Position {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(text);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}
