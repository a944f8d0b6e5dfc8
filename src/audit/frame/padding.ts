import { DATA_FLAG_REDO, type FrameHeader } from "./layout.ts";

const SMALLEST = 512;
const PAGE = 4_096;

/** 512, 1024, 2048, 4096, then multiples of 4096: the size of a frame says little about what is in it. */
export function paddedLength(length: number): number {
  if (length > PAGE) return Math.ceil(length / PAGE) * PAGE;
  let padded = SMALLEST;
  while (padded < length) padded *= 2;
  return padded;
}

const TAG_BYTES = 16;

/** Whether a frame of records has one of these sizes; with a section behind them its length says nothing. */
export function isPadded({ bodyLength, flags }: FrameHeader): boolean {
  return flags === DATA_FLAG_REDO || paddedLength(bodyLength - TAG_BYTES) === bodyLength - TAG_BYTES;
}
