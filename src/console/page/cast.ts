/** What was written at one moment of a recording. */
export interface Piece {
  readonly atSeconds: number;
  readonly text: string;
}

/** Longer silences are shortened: nobody waits for them twice. */
const SILENCE_SECONDS = 2;

/** The times and texts of an asciicast, with long silences cut short. */
export function readPieces(lines: readonly string[]): readonly Piece[] {
  const pieces: Piece[] = [];
  let before = 0;
  let shown = 0;
  for (const line of lines.slice(1)) {
    const [at, kind, text] = JSON.parse(line) as readonly [number, string, string];
    if (kind !== "o") continue;
    shown += Math.min(SILENCE_SECONDS, Math.max(0, at - before));
    before = at;
    pieces.push({ atSeconds: shown, text: text.replaceAll("\r\n", "\n") });
  }
  return pieces;
}
