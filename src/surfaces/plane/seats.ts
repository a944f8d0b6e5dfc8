/**
 * Who may hold a connection of a plane. Everything is bounded before anybody is identified or read: so many for one holder (a user,
 * a process), so many in all. Where it is full a newcomer is not turned away for those who only sit there: the oldest idle one of
 * whoever holds most makes room, strangers first, then whoever a person is being asked about, and whoever was approved last. Where
 * nobody is idle, a program that nobody approved and that has more than half of its holder's seats makes room all the same.
 */
export interface Seats {
  /** Null when there is no room and nobody idle. `drop` ends the connection of a seat that has to make room. */
  take(holder: number, drop: () => void): Seat | null;
  /** Makes room for one more of this holder, or says that there is none. */
  admits(holder: number): boolean;
  /** Whether one more of this holder would cost it one that it has. */
  hasShare(holder: number): boolean;
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

/** The rank of requests that are being served: one makes room only where its program has more than half of its holder's seats. */
const CROWD = 4;

/** Those of one holder that would go at the same time, by program; each in the order in which it came to be so. */
interface Row {
  readonly parties: Map<string, Set<Taken>>;
  size: number;
}

/** Who goes first, crowds last; null for whoever stays. */
function rankOf({ busy, standing, party }: Taken, dropBusy: boolean): number | null {
  if (busy && dropBusy && standing === "stranger") return 1;
  if (busy) return standing === "approved" || party === "" ? null : CROWD;
  return { stranger: 0, waiting: 2, approved: 3 }[standing];
}

export function createSeats(limits: SeatLimits): Seats {
  const seats = new Set<Taken>();
  const counts = new Map<number, number>();
  // Under a flood room is made for every connection: what that costs must not grow with how many there are.
  const ranks = Array.from({ length: CROWD + 1 }, () => new Map<number, Row>());

  function file(seat: Taken): void {
    const rank = rankOf(seat, limits.dropBusy);
    const rows = rank === null ? undefined : ranks[rank];
    if (rows === undefined) return;
    const row = rows.get(seat.holder) ?? { parties: new Map<string, Set<Taken>>(), size: 0 };
    const party = row.parties.get(seat.party) ?? new Set<Taken>();
    rows.set(seat.holder, row);
    row.parties.set(seat.party, party);
    party.add(seat);
    row.size++;
  }

  function unfile(seat: Taken): void {
    const rank = rankOf(seat, limits.dropBusy);
    const rows = rank === null ? undefined : ranks[rank];
    const row = rows?.get(seat.holder);
    const party = row?.parties.get(seat.party);
    if (rows === undefined || row === undefined || party === undefined || !party.delete(seat)) return;
    row.size--;
    if (party.size === 0) row.parties.delete(seat.party);
    if (row.size === 0) rows.delete(seat.holder);
  }

  function change(seat: Taken, next: Partial<Pick<Taken, "party" | "busy" | "standing">>): void {
    const { party = seat.party, busy = seat.busy, standing = seat.standing } = next;
    // Nearly every request finds its caller standing as the last one did.
    if (party === seat.party && busy === seat.busy && standing === seat.standing) return;
    if (!seats.has(seat)) return;
    unfile(seat);
    Object.assign(seat, { party, busy, standing });
    file(seat);
  }

  function leave(seat: Taken): void {
    unfile(seat);
    if (!seats.delete(seat)) return;
    const left = (counts.get(seat.holder) ?? 1) - 1;
    if (left === 0) counts.delete(seat.holder);
    else counts.set(seat.holder, left);
  }

  /** The oldest of the program that has most, of this holder or of whoever has most; strangers first. */
  function makeRoom(holder: number | null): boolean {
    for (const [rank, rows] of ranks.entries()) {
      const row = holder === null ? largest(rows.values()) : rows.get(holder);
      const party = row === undefined ? undefined : largest(row.parties.values());
      const [first] = party ?? [];
      if (first === undefined || (rank === CROWD && (party?.size ?? 0) <= limits.perHolder / 2)) continue;
      leave(first);
      first.drop();
      return true;
    }
    return false;
  }

  function hasShare(holder: number): boolean {
    return (counts.get(holder) ?? 0) >= limits.perHolder;
  }

  function admits(holder: number): boolean {
    if (hasShare(holder) && !makeRoom(holder)) return false;
    return seats.size < limits.total || makeRoom(null);
  }

  return {
    admits,
    hasShare,
    get taken() {
      return seats.size;
    },
    take(holder, drop) {
      if (!admits(holder)) return null;
      const seat: Taken = { holder, drop, party: "", busy: false, standing: "stranger" };
      seats.add(seat);
      file(seat);
      counts.set(holder, (counts.get(holder) ?? 0) + 1);
      return {
        busy: () => change(seat, { busy: true }),
        idle: () => change(seat, { busy: false }),
        name: (party) => change(seat, { party }),
        stand: (standing) => change(seat, { standing }),
        leave: () => leave(seat),
      };
    },
  };
}

function largest<Sized extends { readonly size: number }>(some: Iterable<Sized>): Sized | undefined {
  let most: Sized | undefined;
  for (const one of some) if (most === undefined || one.size > most.size) most = one;
  return most;
}
