import type { Brand } from "./brand.ts";
import type { Clock, Random } from "./clock.ts";

export type RunId = Brand<string, "RunId">;
export type SessionId = Brand<string, "SessionId">;
export type CallId = Brand<string, "CallId">;
export type PlanId = Brand<string, "PlanId">;
export type OperationId = Brand<string, "OperationId">;
export type ApprovalId = Brand<string, "ApprovalId">;
export type EventId = Brand<string, "EventId">;

interface IdKinds {
  run: RunId;
  ses: SessionId;
  call: CallId;
  plan: PlanId;
  op: OperationId;
  apr: ApprovalId;
  evt: EventId;
}

export type IdKind = keyof IdKinds;

/** Opaque identifiers. They sort by time of making, so that stores append instead of scattering writes. */
export interface Ids {
  next<Kind extends IdKind>(kind: Kind): IdKinds[Kind];
}

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const DIGITS = Buffer.from(ALPHABET, "latin1");
const TIME_DIGITS = 10;
const RANDOM_BYTES = 16;
/** A call needs half a dozen identifiers. They are no secrets, so that chance for more of them may lie in memory. */
const DRAWN_AT_ONCE = 32;
const SHAPE = new RegExp(`^(run|ses|call|plan|op|apr|evt)_[${ALPHABET}]{${TIME_DIGITS + RANDOM_BYTES}}$`);

export function createIds(clock: Pick<Clock, "wallMs">, random: Random): Ids {
  let timeMs = Number.NaN;
  let time = "";
  const tail = Buffer.alloc(RANDOM_BYTES);
  let chance: Buffer = Buffer.alloc(0);
  let drawn = 0;
  return {
    next<Kind extends IdKind>(kind: Kind): IdKinds[Kind] {
      const nowMs = clock.wallMs();
      if (nowMs !== timeMs) time = timeDigits(nowMs);
      timeMs = nowMs;
      if (drawn === chance.length) {
        chance = random.bytes(RANDOM_BYTES * DRAWN_AT_ONCE);
        drawn = 0;
      }
      for (let at = 0; at < RANDOM_BYTES; at++, drawn++) tail[at] = DIGITS[(chance[drawn] ?? 0) & 31] ?? 0;
      return `${kind}_${time}${tail.toString("latin1")}` as IdKinds[Kind];
    },
  };
}

/** The lowest identifier that could have been made at this time: every earlier one sorts before it. */
export function firstIdAt(kind: IdKind, wallMs: number): string {
  return `${kind}_${timeDigits(wallMs)}`;
}

function timeDigits(wallMs: number): string {
  let digits = "";
  for (let rest = Math.max(0, wallMs), count = 0; count < TIME_DIGITS; count++) {
    digits = ALPHABET.charAt(rest % 32) + digits;
    rest = Math.floor(rest / 32);
  }
  return digits;
}

const FIRST_RANDOM_DIGIT = "evt_".length + TIME_DIGITS;

/**
 * One of up to 31 further identifiers of what one event says, made of its own and as unlike any other: the first digit of
 * chance moves on by `place`.
 */
export function furtherEventId(eventId: string, place: number): string {
  const digit = ALPHABET.indexOf(eventId.charAt(FIRST_RANDOM_DIGIT));
  const moved = ALPHABET.charAt((digit + place) % ALPHABET.length);
  return eventId.slice(0, FIRST_RANDOM_DIGIT) + moved + eventId.slice(FIRST_RANDOM_DIGIT + 1);
}

/** Reads an identifier that came from outside; undefined when it is not one of this kind. */
export function readId<Kind extends IdKind>(kind: Kind, text: string): IdKinds[Kind] | undefined {
  return text.startsWith(`${kind}_`) && SHAPE.test(text) ? (text as IdKinds[Kind]) : undefined;
}
