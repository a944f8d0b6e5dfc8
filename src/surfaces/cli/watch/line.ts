/** One row of the screen. The style only repeats what the words say already. */
export interface Line {
  readonly text: string;
  readonly style: Style;
}

export type Style = "plain" | "bar" | "chosen" | "strong" | "warning" | "quiet" | "added" | "removed";

export function line(text: string, style: Style): Line {
  return { text, style };
}
