import { createHash } from "node:crypto";

/**
 * A fixed piece of work, done again and again while a run is on. Processors of a shared machine are a third slower on some days than on
 * others: what two runs cost can be set against each other by what this took in each.
 */
const EVERY_MS = 5_000;
const TEXT = JSON.stringify(Array.from({ length: 300 }, (_, at) => ({ id: `evt_${at}`, at, tags: ["a", "b", "c"] })));
const ROUNDS = 10;

/** Until it is asked: the median of what one took of a processor, in milliseconds. */
export function measureOften(): () => number {
  const took: number[] = [];
  const measure = (): unknown => took.push(measureOnce());
  measure();
  const timer = setInterval(measure, EVERY_MS).unref();
  return () => {
    clearInterval(timer);
    return took.sort((one, other) => one - other)[Math.floor(took.length / 2)] ?? 0;
  };
}

function measureOnce(): number {
  const before = process.cpuUsage();
  let text = TEXT;
  for (let round = 0; round < ROUNDS; round++) {
    const records = JSON.parse(text) as { readonly id: string }[];
    records.sort((one, other) => (digest(one.id) < digest(other.id) ? -1 : 1));
    text = JSON.stringify(records);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
