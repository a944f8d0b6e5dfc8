const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TIME = "([0-2]\\d):([0-5]\\d):([0-5]\\d|60)";
const MONTH = `(${MONTHS.join("|")})`;
const DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)";
const FIX = new RegExp(`^${DAY}, (\\d\\d) ${MONTH} (\\d{4}) ${TIME} GMT$`);
const RFC850 = new RegExp(`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (\\d\\d)-${MONTH}-(\\d\\d) ${TIME} GMT$`);
const ASCTIME = new RegExp(`^${DAY} ${MONTH} ([ \\d]\\d) ${TIME} (\\d{4})$`);

/** An HTTP date in any of its three forms (RFC 9110), as milliseconds since 1970; null for anything else. */
export function readHttpDate(text: string): number | null {
  if (text.length > 64) return null;
  const fix = FIX.exec(text);
  if (fix !== null) return momentOf(fix[3], fix[2], fix[1], fix.slice(4));
  const asctime = ASCTIME.exec(text);
  if (asctime !== null) return momentOf(asctime[6], asctime[1], asctime[2], asctime.slice(3, 6));
  const old = RFC850.exec(text);
  // Two digits of a year: what would lie decades ahead is the past.
  if (old !== null) return momentOf(`${Number(old[3]) < 70 ? "20" : "19"}${old[3]}`, old[2], old[1], old.slice(4));
  return null;
}

function momentOf(
  year: string | undefined,
  month: string | undefined,
  day: string | undefined,
  time: readonly string[],
): number | null {
  const [hours, minutes, seconds] = time.map(Number);
  const index = MONTHS.indexOf(month ?? "");
  const ms = Date.UTC(Number(year), index, Number(day), hours, minutes, seconds);
  // 31 February would roll over into March.
  return new Date(ms).getUTCMonth() === index ? ms : null;
}
