/**
 * Who may hold a connection of a plane. Everything is bounded before anybody is identified or read: so many for one holder (a user,
 * a process), so many in all. Where it is full a newcomer is not turned away for those who only sit there: the oldest idle one of
 * whoever holds most makes room, strangers first, then whoever a person is being asked about, and whoever was approved last.
 */
export interface Seats {
  /** Null when there is no room and nobody idle. `drop` ends the connection of a seat that has to make room. */
  take(holder: number, drop: () => void): Seat | null;
  /** Makes room for one more of this holder, or says that there is none. */
  admits(holder: number): boolean;
  readonly taken: number;
}

export interface Seat {
  /** A request is being served on it. */
  busy(): void;
  idle(): void;
  /** It is known by now which of the holder's programs sits here. */
  name(party: string): void;
  /** How whoever sits here stands now; a stranger until this is said. */
  stand(standing: Standing): void;
  leave(): void;
}

/** Nobody in particular; waiting for a person's answer; approved, or with a proven key. */
export type Standing = "stranger" | "waiting" | "approved";

export interface SeatLimits {
  readonly perHolder: number;
  readonly total: number;
  /** Whether a request of a stranger may be cut short to make room. Never where one waits for a person. */
  readonly dropBusy: boolean;
}

interface Taken {
  readonly holder: number;
  readonly drop: () => void;
  party: string;
  busy: boolean;
  standing: Standing;
}

export function createSeats(limits: SeatLimits): Seats {
  /** In the order in which they came. */
  const seats = new Set<Taken>();
  const counts = new Map<number, number>();

  function leave(seat: Taken): void {
    if (!seats.delete(seat)) return;
    const left = (counts.get(seat.holder) ?? 1) - 1;
    if (left === 0) counts.delete(seat.holder);
    else counts.set(seat.holder, left);
  }

  /** The oldest of those that may go, of the party that has most of them, of the holder that has most; strangers first. */
  function makeRoom(among: (seat: Taken) => boolean): boolean {
    const ranks = [
      (seat: Taken): boolean => seat.standing === "stranger" && !seat.busy,
      (seat: Taken): boolean => limits.dropBusy && seat.standing === "stranger",
      (seat: Taken): boolean => seat.standing === "waiting" && !seat.busy,
      (seat: Taken): boolean => !seat.busy,
    ];
    for (const rank of ranks) {
      const holder = mostOf((seat) => among(seat) && rank(seat), holderOf)?.holder;
      const first = mostOf((seat) => seat.holder === holder && rank(seat), partyOf);
      if (first === null) continue;
      leave(first);
      first.drop();
      return true;
    }
    return false;
  }

  /** The oldest with the key that most of them have. Under a flood this is asked for every connection. */
  function mostOf<Key>(may: (seat: Taken) => boolean, keyOf: (seat: Taken) => Key): Taken | null {
    const found = new Map<Key, { readonly oldest: Taken; count: number }>();
    let most: { readonly oldest: Taken; count: number } | null = null;
    for (const seat of seats) {
      if (!may(seat)) continue;
      const key = keyOf(seat);
      let group = found.get(key);
      if (group === undefined) {
        group = { oldest: seat, count: 0 };
        found.set(key, group);
      }
      group.count++;
      if (most === null || group.count > most.count) most = group;
    }
    return most?.oldest ?? null;
  }

  function admits(holder: number): boolean {
    if ((counts.get(holder) ?? 0) >= limits.perHolder && !makeRoom((seat) => seat.holder === holder)) return false;
    return seats.size < limits.total || makeRoom(() => true);
  }

  return {
    admits,
    get taken() {
      return seats.size;
    },
    take(holder, drop) {
      if (!admits(holder)) return null;
      const seat: Taken = { holder, drop, party: "", busy: false, standing: "stranger" };
      seats.add(seat);
      counts.set(holder, (counts.get(holder) ?? 0) + 1);
      return {
        busy() {
          seat.busy = true;
        },
        idle() {
          seat.busy = false;
        },
        name(party) {
          seat.party = party;
        },
        stand(standing) {
          seat.standing = standing;
        },
        leave: () => leave(seat),
      };
    },
  };
}

const holderOf = ({ holder }: Taken): number => holder;
const partyOf = ({ party }: Taken): string => party;
