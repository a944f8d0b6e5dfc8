import { randomInt } from "node:crypto";
import { whole } from "../../src/kernel/testing/whole.ts";

export { whole };

const MOST_SEEDS = 2 ** 31;
/** Another sample in every run. It is printed with what it chose, and GW_TEST_SEED chooses the same again. */
const seed = Number(process.env["GW_TEST_SEED"] ?? randomInt(1, MOST_SEEDS));

/** So many of the cases, in their order; all of them where the campaign is played whole. */
export function sampleOf<Case>(campaign: string, cases: readonly Case[], count: number): readonly Case[] {
  if (whole || cases.length <= count) return cases;
  console.log(`${campaign}: ${count} of ${cases.length} cases, GW_TEST_SEED=${seed}`);
  const ranked = cases.map((one, index) => ({ one, index, rank: scatter(seed + index) }));
  const chosen = ranked.sort((a, b) => a.rank - b.rank).slice(0, count);
  return chosen.sort((a, b) => a.index - b.index).map(({ one }) => one);
}

const told = new Set<string>();

/** The same for cases that come up by themselves, each with a name of its own: whether this one is the first, or among the one in `every` that is played. */
export function isSampled(campaign: string, name: string, every: number): boolean {
  if (whole) return true;
  if (!told.has(campaign)) {
    console.log(`${campaign}: the first and one in ${every}, GW_TEST_SEED=${seed}`);
    told.add(campaign);
    return true;
  }
  const number = [...name].reduce((sum, letter) => scatter(sum ^ letter.charCodeAt(0)), seed);
  return number % every === 0;
}

/** Numbers that lie side by side end up far apart (the finalizer of MurmurHash3). */
function scatter(number: number): number {
  let mixed = Math.imul(number ^ (number >>> 16), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
