import { isoTime } from "../../kernel/clock.ts";

/** What a page asks of the Activity journal. */
export interface Wanted {
  readonly text: string;
  readonly outcome: string;
  /** Of what an entry says by this name; nothing where it is empty. */
  readonly fields: Readonly<Record<FieldName, string>>;
  /** Who approved or decided it. */
  readonly operator: string;
  /** ISO times, or empty. */
  readonly since: string;
  readonly until: string;
  readonly offset: number;
  readonly limit: number;
  /** Reads further back than before. */
  readonly older: boolean;
}

/** What a page can filter by, one by one. */
export const FIELDS = {
  action: "action",
  run: "run_id",
  caller: "caller",
  credential: "credential_label",
  gateway: "gateway",
} as const;
export type FieldName = keyof typeof FIELDS;

const PAGE_ROWS = 500;
/** What an export holds at most. */
const EXPORT_ROWS = 20_000;

/** From the page's own query; whatever is odd is taken as nothing. */
export function readWanted(query: URLSearchParams): Wanted {
  const text = (name: string): string => (query.get(name) ?? "").slice(0, 200);
  const number = (name: string, max: number): number =>
    Math.max(0, Math.min(max, Math.floor(Number(query.get(name) ?? 0)) || 0));
  const time = (name: string): string => {
    const ms = Date.parse(text(name));
    return Number.isNaN(ms) ? "" : isoTime(ms);
  };
  return {
    ...{ text: text("q"), outcome: text("outcome"), since: time("since"), until: time("until") },
    operator: text("operator"),
    fields: {
      action: text("action"),
      run: text("run"),
      caller: text("caller"),
      credential: text("credential"),
      gateway: text("gateway"),
    },
    offset: number("offset", 10_000_000),
    limit: query.get("export") === "1" ? EXPORT_ROWS : number("limit", PAGE_ROWS) || 100,
    older: query.get("older") === "1",
  };
}
