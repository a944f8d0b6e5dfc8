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

/** What was denied, by user and digest of what was asked, with the boot time until which it is not asked again. */
export type CoolDowns = ReadonlyMap<string, number>;

export function coolDownKey(uid: number, askDigest: string): string {
  return `${uid} ${askDigest}`;
}

export function isCoolingDown(coolDowns: CoolDowns, key: string, nowBootMs: number): boolean {
  return (coolDowns.get(key) ?? 0) > nowBootMs;
}

/** Adds one and drops what has cooled down; the oldest go first when there are too many. */
export function addCoolDown(
  coolDowns: CoolDowns,
  key: string,
  untilBootMs: number,
  nowBootMs: number,
  max: number,
): CoolDowns {
  const kept = [...coolDowns].filter(([other, until]) => until > nowBootMs && other !== key);
  return new Map([...kept, [key, untilBootMs] as const].slice(-max));
}

function countUid(places: readonly CardPlace[], uid: number): number {
  return places.filter((place) => place.uid === uid).length;
}
