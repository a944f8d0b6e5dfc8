/**
 * Who may hold a connection of a plane. Everything is bounded before anybody is identified or read: so many for one holder (a user,
 * a process), so many in all. Where it is full a newcomer is not turned away for those who only sit there: the oldest idle one of
 * whoever holds most makes room.
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
  /** Whoever sits here has proven a key, or was approved: it goes last of all. */
  prove(): void;
  leave(): void;
}

export interface SeatLimits {
  readonly perHolder: number;
  readonly total: number;
  /** Whether a request of somebody unproven may be cut short to make room. Never where one waits for a person. */
  readonly dropBusy: boolean;
}

interface Taken {
  readonly holder: number;
  readonly drop: () => void;
  busy: boolean;
  proven: boolean;
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

  /** The oldest of those that may go, of whoever has most of them; the unproven first. */
  function makeRoom(among: (seat: Taken) => boolean): boolean {
    const ranks = [
      (seat: Taken): boolean => !seat.proven && !seat.busy,
      (seat: Taken): boolean => limits.dropBusy && !seat.proven,
      (seat: Taken): boolean => !seat.busy,
    ];
    for (const rank of ranks) {
      const oldest = new Map<number, { readonly seat: Taken; count: number }>();
      for (const seat of seats) {
        if (!among(seat) || !rank(seat)) continue;
        const known = oldest.get(seat.holder);
        if (known === undefined) oldest.set(seat.holder, { seat, count: 1 });
        else known.count++;
      }
      const most = [...oldest.values()].reduce((best, next) => (next.count > best.count ? next : best), {
        seat: null as Taken | null,
        count: 0,
      });
      if (most.seat === null) continue;
      leave(most.seat);
      most.seat.drop();
      return true;
    }
    return false;
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
      const seat: Taken = { holder, drop, busy: false, proven: false };
      seats.add(seat);
      counts.set(holder, (counts.get(holder) ?? 0) + 1);
      return {
        busy() {
          seat.busy = true;
        },
        idle() {
          seat.busy = false;
        },
        prove() {
          seat.proven = true;
        },
        leave: () => leave(seat),
      };
    },
  };
}
