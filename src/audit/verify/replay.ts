import { HEADER_BYTES, LINK_BYTES } from "../frame/layout.ts";
import type { BreachCode } from "./findings.ts";
import type { Scan } from "./scan.ts";
import { visitFrame, visitRecords, type Walk } from "./walk.ts";

/** What is wrong, in which frame and where. */
export interface Wrong {
  readonly code: BreachCode;
  readonly frame: number;
  readonly offset: number;
}

/** Walks a segment by what its scan copied out: the same steps with the same bytes, without those that were hashed already. */
export function replay(walk: Walk, { marks, bytes, lastLink, recordsAfter }: Scan): Wrong | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = LINK_BYTES;
  let recordsFrom = 0;
  const skip = (records: number): Wrong | null => {
    const code = visitRecords(walk, records);
    if (code !== null) return { code, frame: walk.nextFrame, offset: recordsFrom };
    walk.nextFrame += records;
    return null;
  };
  for (const { records, offset, header } of marks) {
    const skipped = skip(records);
    if (skipped !== null) return skipped;
    buffer.copy(walk.link, 0, at - LINK_BYTES, at);
    const code = visitFrame(walk, { buffer, at, offset, header });
    if (code !== null) return { code, frame: walk.nextFrame, offset };
    walk.nextFrame++;
    const length = HEADER_BYTES + header.bodyLength + LINK_BYTES;
    recordsFrom = offset + length;
    buffer.copy(walk.link, 0, at + length - LINK_BYTES, at + length);
    at += length + LINK_BYTES;
  }
  const skipped = skip(recordsAfter);
  if (skipped !== null) return skipped;
  walk.link.set(lastLink);
  return null;
}
