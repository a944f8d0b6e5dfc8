import type { Screen } from "../../../conventions/outcome/echo.ts";
import type { Streamed } from "../../../conventions/outcome/observation.ts";
import type { AnswerSink } from "../../../gateway/ports.ts";
import { digestStream } from "../../../kernel/canonical-json.ts";

/** Hands an answer on while it comes: screened, counted and summed. An answer that is not passed on is read whole. */
export interface PassOn {
  /** How much of what came before is looked at once more with each piece. */
  readonly looksBack: number;
  /** Whether this answer is passed on. */
  begin(status: number, headers: Readonly<Record<string, string>>): boolean;
  /** `echoed` where the credential was seen; a promise where nothing may follow before it resolves. */
  write(chunk: Buffer): Promise<void> | null | "echoed";
  /** Everything came. */
  end(): void;
  /** What was passed on; undefined where nothing was begun. */
  done(): Streamed | undefined;
}

const EMPTY = Buffer.alloc(0);

export function passOn(sink: AnswerSink, screen: Screen): PassOn {
  const body = screen.stream();
  const sum = digestStream();
  let begun = false;
  let bytes = 0;
  const hand = (piece: Buffer): Promise<void> | null => {
    if (piece.byteLength === 0) return null;
    bytes += piece.byteLength;
    sum.add(piece);
    return sink.write(piece);
  };
  return {
    looksBack: body.looksBack,
    begin(status, headers) {
      // What a tool is told of any other status, or of fields that hold the credential, is decided over the whole.
      const isAnswer = status === 200 || status === 206 || status === 203;
      begun = isAnswer && screen({ headers, body: EMPTY }, "withhold").kind === "clean";
      if (begun) sink.begin(status, headers);
      return begun;
    },
    write(chunk) {
      const piece = body.take(chunk);
      return piece === null ? "echoed" : hand(piece);
    },
    end: () => void hand(body.rest()),
    done: () => (begun ? { bytes, digest: sum.done() } : undefined),
  };
}
