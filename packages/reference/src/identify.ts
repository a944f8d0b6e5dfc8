import type { Clock, Random } from "../../../src/kernel/clock.ts";

/** Opaque identifiers with a prefix that tells people what they are. They sort by the time of their making. */
export type Identify = (prefix: string) => string;

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export function createIdentify(clock: Pick<Clock, "wallMs">, random: Random): Identify {
  return (prefix) => {
    let time = "";
    for (let rest = clock.wallMs(), digit = 0; digit < 10; digit++, rest = Math.floor(rest / 32)) {
      time = ALPHABET.charAt(rest % 32) + time;
    }
    let tail = "";
    for (const byte of random.bytes(14)) tail += ALPHABET.charAt(byte & 31);
    return `${prefix}_${time}${tail}`;
  };
}
