import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "./api.ts";
import { type Piece, readPieces } from "./cast.ts";
import { Button, Problem } from "./parts.tsx";

const TICK_MS = 100;

/**
 * What an operation wrote, played back. The console hands out an asciicast whose text has lost every control but tabs and line
 * ends; it is put into the page as text, and no terminal ever sees it.
 */
export function Recording({ attemptId }: { readonly attemptId: string }) {
  const [pieces, setPieces] = useState<readonly Piece[] | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const [playing, setPlaying] = useState(false);
  const screen = useRef<HTMLElement>(null);
  const end = pieces?.at(-1)?.atSeconds ?? 0;

  async function open(): Promise<void> {
    try {
      const lines = (await ask("GET", `/api/recordings/${encodeURIComponent(attemptId)}`)) as readonly string[];
      setPieces(readPieces(lines));
      setPlaying(true);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }
  useEffect(() => {
    if (!playing) return;
    const timer = setInterval(() => setAt((before) => Math.min(end, before + TICK_MS / 1000)), TICK_MS);
    return () => clearInterval(timer);
  }, [playing, end]);
  useEffect(() => {
    if (at >= end && pieces !== null) setPlaying(false);
    if (screen.current !== null) screen.current.scrollTop = screen.current.scrollHeight;
  }, [at, pieces]);

  if (pieces === null) {
    return (
      <>
        <Button class="plain small" onClick={() => void open()}>
          Play what it wrote
        </Button>
        <Problem text={problem} />
      </>
    );
  }
  const written = pieces.filter((piece) => piece.atSeconds <= at);
  return (
    <figure class="recording">
      <section ref={screen} class="words" aria-label="What it wrote" tabIndex={0}>
        {written.map(({ text }) => text).join("")}
      </section>
      <div class="buttons">
        <Button
          class="plain small"
          onClick={() => {
            if (!playing && at >= end) setAt(0);
            setPlaying(!playing);
          }}
        >
          {playing ? "Pause" : at >= end ? "Play again" : "Play"}
        </Button>
        <input
          type="range"
          min={0}
          max={end}
          step="any"
          value={at}
          aria-label="Moment of the recording"
          aria-valuetext={`${at.toFixed(1)} of ${end.toFixed(1)} seconds`}
          onInput={({ currentTarget }) => {
            setPlaying(false);
            setAt(Number(currentTarget.value));
          }}
        />
        <span class="muted">
          {at.toFixed(1)} s of {end.toFixed(1)} s
        </span>
      </div>
    </figure>
  );
}
