/** The part of a week in which a grant counts, in UTC: a gateway's own time zone could be moved. */
export interface Hours {
  /** 0 is Sunday. */
  readonly days: readonly number[];
  /** From this hour on, up to but without `toHour`. */
  readonly fromHour: number;
  readonly toHour: number;
}

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** `mon-fri 08-18`, `sat,sun 00-24`, `08-18`. Null for anything else. */
export function readHours(text: string): Hours | null {
  const found = /^(?:([a-z,-]{3,27}) )?([0-9]{2})-([0-9]{2})$/.exec(text);
  if (found === null) return null;
  const days = found[1] === undefined ? [0, 1, 2, 3, 4, 5, 6] : readDays(found[1]);
  const [fromHour, toHour] = [Number(found[2]), Number(found[3])];
  if (days === null || fromHour >= toHour || toHour > 24) return null;
  return { days, fromHour, toHour };
}

function readDays(text: string): readonly number[] | null {
  const days = new Set<number>();
  for (const part of text.split(",")) {
    const [first = "", last = first, ...more] = part.split("-");
    const [from, to] = [DAYS.indexOf(first as (typeof DAYS)[number]), DAYS.indexOf(last as (typeof DAYS)[number])];
    if (more.length > 0 || from < 0 || to < 0) return null;
    for (let day = from; ; day = (day + 1) % 7) {
      days.add(day);
      if (day === to) break;
    }
  }
  return [...days].sort((a, b) => a - b);
}

export function isWithin({ days, fromHour, toHour }: Hours, wallMs: number): boolean {
  const moment = new Date(wallMs);
  const hour = moment.getUTCHours();
  return days.includes(moment.getUTCDay()) && hour >= fromHour && hour < toHour;
}

export function hoursWords({ days, fromHour, toHour }: Hours): string {
  const two = (hour: number): string => String(hour).padStart(2, "0");
  return `${days.map((day) => DAYS[day]).join(",")} ${two(fromHour)}-${two(toHour)} UTC`;
}
