import { Misused } from "../misused.ts";

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const DAY_MS = 86_400_000;
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?([Zz]|[+-]\d{2}:\d{2})$/;

/** A length of time, such as `90s`, `15m` or `2h`, from a second up to so many hours. */
export function readDuration(option: string, text: string, maxHours: number): number {
  const found = /^(\d{1,6})([smhdw])$/.exec(text);
  const ms = Number(found?.[1] ?? 0) * (UNITS[found?.[2] ?? ""] ?? 0);
  if (ms > 0 && ms <= maxHours * 3_600_000) return ms;
  throw new Misused(`${option} is a length of time from 1s to ${maxHours}h, such as 15m or 2h.`);
}

/** A time as people say it: `90m` ago, `today`, `yesterday`, a day, or RFC 3339 with whatever offset. Days are those of UTC. */
export function readTime(option: string, text: string, wallMs: number): number {
  const ago = /^(\d{1,6})([smhdw])$/.exec(text);
  if (ago !== null) return wallMs - Number(ago[1]) * (UNITS[ago[2] ?? ""] ?? 0);
  const today = wallMs - (wallMs % DAY_MS);
  if (text === "now") return wallMs;
  if (text === "today") return today;
  if (text === "yesterday") return today - DAY_MS;
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : parseRfc3339(text);
  if (!Number.isNaN(at) && isOnCalendar(text)) return at;
  throw new Misused(
    `${option} is a time like 1h, 30m, 7d, today, yesterday, 2026-11-15, 2026-11-15T08:00:00Z or 2026-11-15T08:00:00+02:00.`,
  );
}

function parseRfc3339(text: string): number {
  return RFC_3339.test(text) ? Date.parse(text.replace(" ", "T").toUpperCase()) : Number.NaN;
}

/** Date.parse takes 30 February for a day of March. */
function isOnCalendar(text: string): boolean {
  const day = text.slice(0, 10);
  return new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day;
}
