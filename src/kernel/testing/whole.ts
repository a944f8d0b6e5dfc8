/** Whether a long campaign plays every case or a sample of them: `npm run soak -- suite` plays every case. */
export const whole = process.env["GW_TEST_WHOLE"] === "1";

/** How many made-up cases a property is tried with: a quarter of those of the whole campaign. Not where they have to come to something: fewer may not. */
export function runsOf(count: number): number {
  return whole ? count : Math.ceil(count / 4);
}
