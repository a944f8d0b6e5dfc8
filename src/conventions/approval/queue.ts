import type { LimitsRecord } from "../budget/record.ts";

/**
 * Which cards may be open at once, so that no caller can bury the one that matters: one a caller, three a user, the rest
 * wait in line up to a bound. What a person just denied is not asked again until it has cooled down.
 */
export interface CardPlace {
  readonly callerKey: string;
  readonly uid: number;
}

export interface QueueLimits {
  readonly openPerUid: number;
  readonly waitingPerUid: number;
}

export function mayOpen(open: readonly CardPlace[], place: CardPlace, limits: QueueLimits): boolean {
  if (open.some(({ callerKey }) => callerKey === place.callerKey)) return false;
  return countUid(open, place.uid) < limits.openPerUid;
}

export function mayWait(waiting: readonly CardPlace[], place: CardPlace, limits: QueueLimits): boolean {
  return countUid(waiting, place.uid) < limits.waitingPerUid;
}

/** The places in line that may open now, in the order they came. */
export function pickNext<Place extends CardPlace>(
  open: readonly CardPlace[],
  waiting: readonly Place[],
  limits: QueueLimits,
): readonly Place[] {
  const picked: Place[] = [];
  for (const place of waiting) if (mayOpen([...open, ...picked], place, limits)) picked.push(place);
  return picked;
}

/** What was denied: until which boot time it is not asked again, and with which budget it was asked. */
export interface CoolDown {
  readonly untilBootMs: number;
  /** Null where the question was about no budget. */
  readonly budget: LimitsRecord | null;
}

/** By user and digest of what was asked, which leaves the budget out. */
export type CoolDowns = ReadonlyMap<string, CoolDown>;

export function coolDownKey(uid: number, askDigest: string): string {
  return `${uid} ${askDigest}`;
}

/** The same question cools down whatever its budget, unless that is markedly smaller: a person may have denied because of it. */
export function isCoolingDown(
  coolDowns: CoolDowns,
  key: string,
  budget: LimitsRecord | null,
  nowBootMs: number,
): boolean {
  const denied = coolDowns.get(key);
  if (denied === undefined || denied.untilBootMs <= nowBootMs) return false;
  return denied.budget === null || budget === null || !isMarkedlySmaller(budget, denied.budget);
}

/**
 * No ceiling is larger, and one of them is at most half: shaving off a little at a time must not wear anybody down. What
 * was nothing cannot become less.
 */
export function isMarkedlySmaller(asked: LimitsRecord, denied: LimitsRecord): boolean {
  const ceilings = ["attempts", "side_effects", "duration_seconds", "spend_cents"] as const;
  return (
    ceilings.every((name) => asked[name] <= denied[name]) &&
    ceilings.some((name) => denied[name] > 0 && asked[name] * 2 <= denied[name])
  );
}

/** Adds one and drops what has cooled down; the oldest go first when there are too many. */
export function addCoolDown(
  coolDowns: CoolDowns,
  key: string,
  denied: CoolDown,
  nowBootMs: number,
  max: number,
): CoolDowns {
  const kept = [...coolDowns].filter(([other, { untilBootMs }]) => untilBootMs > nowBootMs && other !== key);
  return new Map([...kept, [key, denied] as const].slice(-max));
}

function countUid(places: readonly CardPlace[], uid: number): number {
  return places.filter((place) => place.uid === uid).length;
}
