const SMALLEST = 512;
const PAGE = 4_096;

/** 512, 1024, 2048, 4096, then multiples of 4096: the size of a frame says little about what is in it. */
export function paddedLength(length: number): number {
  if (length > PAGE) return Math.ceil(length / PAGE) * PAGE;
  let padded = SMALLEST;
  while (padded < length) padded *= 2;
  return padded;
}
