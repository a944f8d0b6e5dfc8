import { lookup } from "node:dns/promises";

/** Names become addresses here and nowhere else. Rejects, or answers nothing, when the name has none. */
export type ResolveName = (hostname: string) => Promise<readonly string[]>;

/**
 * The system's own resolver (hosts file included). An answer serves calls for `keepMs`, and calls that start while a
 * lookup is under way share it: the lookup runs on the thread pool, which a burst of calls would otherwise fill.
 */
export function createSystemResolver(
  keepMs: number,
  now: () => number,
  ask: ResolveName = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
): ResolveName {
  const known = new Map<string, { readonly until: number; readonly answer: Promise<readonly string[]> }>();
  return (hostname) => {
    const time = now();
    const held = known.get(hostname);
    if (held && time < held.until) return held.answer;
    if (known.size >= KNOWN_NAMES) dropExpired(known, time);
    const answer = ask(hostname);
    const asked = { until: time + keepMs, answer };
    known.set(hostname, asked);
    // A failure is not kept: the next call asks again.
    answer.catch(() => {
      if (known.get(hostname) === asked) known.delete(hostname);
    });
    return answer;
  };
}

/** Origins come from trusted packs, so this is a bound on mistakes rather than on attackers. */
const KNOWN_NAMES = 1024;

function dropExpired(known: Map<string, { readonly until: number }>, time: number): void {
  for (const [name, { until }] of known) if (until <= time) known.delete(name);
  if (known.size >= KNOWN_NAMES) known.clear();
}
