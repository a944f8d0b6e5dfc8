/** Whether a long campaign plays every case or a sample of them: `npm run soak -- suite` plays every case. */
export const whole = process.env["GW_TEST_WHOLE"] === "1";
