import type { AnswerFault } from "../answer-head.ts";
import { AnswerParser } from "../answer-parser.ts";
import type { Parsed } from "./llhttp.ts";

/** What our parser makes of an answer that comes in pieces; `waiting` where more has to come. For tests only. */
export type Verdict =
  | { readonly kind: "whole"; readonly parsed: Parsed; readonly behind: number }
  | { readonly kind: "refused"; readonly fault: AnswerFault }
  | { readonly kind: "waiting" };

/** `pauses`: it is paused after every event, and resumed with what it left, as a socket does it. */
export function readPieces(pieces: readonly Buffer[], method: string, headBytes: number, pauses = false): Verdict {
  let [informational, status, events] = [0, 0, 0];
  let fields: readonly string[] = [];
  let keeps = false;
  const bodies: Buffer[] = [];
  const parser: AnswerParser = new AnswerParser(method, headBytes, {
    onInformational() {
      informational++;
      event();
    },
    onHead(head) {
      ({ status, fields, keeps } = head);
      event();
    },
    onData(chunk) {
      bodies.push(Buffer.from(chunk));
      event();
    },
  });
  function event(): void {
    events++;
    if (pauses) parser.pause();
  }
  let behind = 0;
  for (const piece of pieces) {
    let at = parser.take(piece);
    while (parser.paused) {
      const before = events;
      if (parser.take(piece.subarray(at)) !== 0 || events !== before)
        throw new Error("it read on although it is paused");
      parser.resume();
      at += parser.take(piece.subarray(at));
    }
    behind += piece.length - at;
    if (parser.fault !== null) return { kind: "refused", fault: parser.fault };
  }
  if (!parser.ended) return { kind: "waiting" };
  return { kind: "whole", parsed: { status, fields, body: Buffer.concat(bodies), informational, keeps }, behind };
}
