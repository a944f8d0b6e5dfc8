import { useEffect, useState } from "preact/hooks";
import { showBounded, showIdentifier } from "../../kernel/display.ts";
import type { Denial, RunUse, Slot, Charts as Told, Wait } from "../reading/charts.ts";
import { ask } from "./api.ts";
import { type Bar, BarChart } from "./bars.tsx";
import { Empty, Problem } from "./parts.tsx";

const DAYS = 30;
const MOST_DENIALS = 10;
const MOST_RUNS = 12;

/** How things went, day by day in the person's own zone; each picture has its table. */
export function Charts() {
  const [told, setTold] = useState<Told | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    ask("GET", "/api/charts").then(
      (found) => setTold(found as Told),
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  }, []);
  return (
    <section aria-labelledby="charts">
      <h2 id="charts">Charts</h2>
      <Problem text={problem} />
      {told === null && problem === null && <p class="muted">Opening the log with your key…</p>}
      {told !== null && (
        <>
          <p class="muted">
            The last {DAYS} days, in your time zone
            {told.whole ? "." : ", as far as the log was opened. Read further back under Activity for the rest."}
          </p>
          {told.slots.length === 0 ? (
            <Empty title="Nothing to draw yet">Charts appear with the first calls.</Empty>
          ) : (
            <Drawn told={told} />
          )}
        </>
      )}
    </section>
  );
}

function Drawn({ told }: { readonly told: Told }) {
  const days = lastDays();
  const shown = new Set(days.map(dayOf));
  const isShown = ({ at }: { readonly at: string }): boolean => shown.has(dayOf(new Date(at)));
  const byDay = group(told.slots, ({ at }) => at);
  const sum = (day: string, of: (slot: Slot) => number): number =>
    (byDay.get(day) ?? []).reduce((total, slot) => total + of(slot), 0);
  const barOf = (day: Date, parts: (id: string) => readonly number[]): Bar => ({
    ...{ id: dayOf(day), label: labelOf(day), parts: parts(dayOf(day)) },
  });
  const perDay = (...of: ((slot: Slot) => number)[]): readonly Bar[] =>
    days.map((day) => barOf(day, (id) => of.map((one) => sum(id, one))));
  const waits = group(told.waits, ({ at }) => at);
  return (
    <div class="charts">
      <BarChart
        title="Calls a day, by outcome"
        unit="calls"
        kinds={[
          ["succeeded", "good"],
          ["failed", "grave"],
          ["unknown", "acts"],
          ["denied", "plain"],
        ]}
        bars={perDay(
          ({ succeeded }) => succeeded,
          ({ failed }) => failed,
          ({ unknown }) => unknown,
          ({ denied }) => denied,
        )}
      />
      <BarChart
        title="Time to a decision, median of a day"
        unit="seconds"
        kinds={[["median wait", "accent"]]}
        bars={days.map((day) => barOf(day, (id) => [median(waits.get(id) ?? [])]))}
        note={endsOf(told.waits.filter(isShown))}
      />
      <BarChart
        title="Denials, by reason"
        unit="denials"
        kinds={[["denied", "plain"]]}
        bars={byReason(told.denials.filter(isShown))
          .slice(0, MOST_DENIALS)
          .map(([code, count]) => ({ id: code, label: showIdentifier(code), parts: [count] }))}
        named
      />
      <BarChart
        title="Spend a day"
        unit="cents"
        kinds={[["charged", "accent"]]}
        bars={perDay(({ spend_cents }) => spend_cents)}
      />
      <BarChart
        title="Calls whose end was not known, a day"
        unit="calls"
        kinds={[
          ["unknown", "acts"],
          ["found out since", "good"],
        ]}
        bars={perDay(
          ({ unknown }) => unknown,
          ({ found_out }) => found_out,
        )}
      />
      <BarChart
        title="Budget used, newest runs"
        unit="% of attempts"
        kinds={[["attempts used", "accent"]]}
        most={100}
        bars={told.runs
          .slice(0, MOST_RUNS)
          .map((run) => ({ id: run.run_id, label: nameOf(run), parts: [shareOf(run)] }))}
        named
      />
    </div>
  );
}

function nameOf({ purpose, attempts, attempts_most }: RunUse): string {
  return `${attempts} of ${attempts_most}: ${showBounded(purpose, 40)}`;
}

function shareOf({ attempts, attempts_most }: RunUse): number {
  return attempts_most === 0 ? 0 : Math.round((attempts / attempts_most) * 100);
}

function endsOf(waits: readonly Wait[]): string {
  const count = (ended: Wait["ended"]): number => waits.filter((one) => one.ended === ended).length;
  return `${count("approved")} approved, ${count("denied")} denied, ${count("expired")} that nobody answered`;
}

function median(waits: readonly Wait[]): number {
  const sorted = waits.map(({ seconds }) => seconds).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/** By the local day: the console tells quarters of an hour, at which every zone's days begin. */
function group<Item>(items: readonly Item[], at: (item: Item) => string): ReadonlyMap<string, readonly Item[]> {
  return Map.groupBy(items, (item) => dayOf(new Date(at(item))));
}

function lastDays(): readonly Date[] {
  return Array.from({ length: DAYS }, (_, index) => {
    const date = new Date();
    date.setDate(date.getDate() - (DAYS - 1 - index));
    return date;
  });
}

/** With its year: a log may hold the same day of another. */
function dayOf(date: Date): string {
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`;
}

/** Made once: to make it takes a thousand times as long as to use it, and every chart has a label for every day. */
const LABEL = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

function labelOf(date: Date): string {
  return LABEL.format(date);
}

/** The most frequent first. */
function byReason(denials: readonly Denial[]): readonly (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const { code, count } of denials) counts.set(code, (counts.get(code) ?? 0) + count);
  return [...counts].sort(([, one], [, other]) => other - one);
}
