import { timingSafeEqual } from "node:crypto";

/** Takes the same time wherever the two differ. A length tells nothing: every sender knows it. */
export function matches(expected: Buffer, given: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether a signed time, in seconds as text, is near enough to ours on either side. */
export function isFresh(timestamp: string, nowS: number, toleranceS: number): boolean {
  return /^[0-9]{1,12}$/.test(timestamp) && Math.abs(nowS - Number(timestamp)) <= toleranceS;
}
