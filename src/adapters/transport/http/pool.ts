import type { Connection } from "./connection.ts";
import type { Stop, StopCause } from "./stop.ts";

/** Leave to use one connection of a group: an idle one, or room to dial a new one. Must be given back exactly once. */
export type Lease =
  | { readonly kind: "idle"; readonly group: Group; readonly connection: Connection }
  | { readonly kind: "room"; readonly group: Group }
  | { readonly kind: "stopped"; readonly cause: StopCause };

/** Connections that are interchangeable: same origin, same authority, same kind of use. */
export interface Group {
  /** Newest last. */
  readonly idle: Connection[];
  open: number;
}

interface Waiter {
  readonly group: Group;
  readonly addresses: readonly string[];
  readonly grant: (lease: Lease) => void;
}

/**
 * Bounded connections. The newest idle one is used first, so that spare ones grow idle and close. Those who wait hold
 * no credential; they are served in order of arrival.
 */
export class Pool {
  readonly #groups = new Map<string, Group>();
  readonly #waiters: Waiter[] = [];
  readonly #perGroup: number;
  readonly #total: number;
  #count = 0;
  #closed = false;

  constructor(perGroup: number, total: number) {
    this.#perGroup = perGroup;
    this.#total = total;
  }

  /** `addresses` is the answer this call got: a connection to any other address is out of date and is closed. */
  acquire(key: string, addresses: readonly string[], stop: Stop): Lease | Promise<Lease> {
    if (stop.cause !== null) return { kind: "stopped", cause: stop.cause };
    const group = this.#groupOf(key);
    const lease = this.#waiters.length === 0 ? this.#tryLease(group, addresses) : null;
    if (lease !== null) return lease;
    return new Promise((resolve) => {
      const waiter: Waiter = {
        group,
        addresses,
        grant: (granted) => {
          stop.onStop = null;
          resolve(granted);
        },
      };
      stop.onStop = (cause) => {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        resolve({ kind: "stopped", cause });
      };
      this.#waiters.push(waiter);
      this.#serve();
    });
  }

  /** The exchange left the connection whole: keep it for the next one. */
  release(group: Group, connection: Connection): void {
    if (this.#closed || !connection.reusable) {
      this.discard(group, connection);
      return;
    }
    group.idle.push(connection);
    connection.onGone ??= () => this.#dropIdle(group, connection);
    this.#serve();
  }

  discard(group: Group, connection: Connection): void {
    connection.close();
    this.forfeit(group);
  }

  /** Gives back room that no connection came to fill. */
  forfeit(group: Group): void {
    this.#uncount(group);
    this.#serve();
  }

  close(): void {
    this.#closed = true;
    for (const group of this.#groups.values()) {
      for (const connection of [...group.idle]) this.#dropIdle(group, connection);
    }
  }

  #groupOf(key: string): Group {
    const held = this.#groups.get(key);
    if (held !== undefined) return held;
    // A group that somebody waits for must stay: its waiters hold this very object.
    if (this.#groups.size >= GROUPS_KEPT && this.#waiters.length === 0) {
      for (const [name, { open }] of this.#groups) if (open === 0) this.#groups.delete(name);
    }
    const group: Group = { idle: [], open: 0 };
    this.#groups.set(key, group);
    return group;
  }

  #tryLease(group: Group, addresses: readonly string[]): Lease | null {
    for (let connection = group.idle.pop(); connection !== undefined; connection = group.idle.pop()) {
      if (connection.reusable && addresses.includes(connection.address)) return { kind: "idle", group, connection };
      connection.close();
      this.#uncount(group);
    }
    if (group.open >= this.#perGroup) return null;
    if (this.#count >= this.#total && !this.#evict()) return null;
    this.#count++;
    group.open++;
    return { kind: "room", group };
  }

  #serve(): void {
    if (this.#waiters.length === 0) return;
    const full = new Set<Group>();
    for (const waiter of [...this.#waiters]) {
      if (full.has(waiter.group)) continue;
      const lease = this.#tryLease(waiter.group, waiter.addresses);
      if (lease === null) full.add(waiter.group);
      else {
        this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
        waiter.grant(lease);
      }
    }
  }

  /** Makes room by closing an idle connection: the longest idle one of the group that was opened first. */
  #evict(): boolean {
    for (const group of this.#groups.values()) {
      const connection = group.idle.shift();
      if (connection === undefined) continue;
      connection.close();
      this.#uncount(group);
      return true;
    }
    return false;
  }

  #dropIdle(group: Group, connection: Connection): void {
    const at = group.idle.indexOf(connection);
    if (at < 0) return;
    group.idle.splice(at, 1);
    this.discard(group, connection);
  }

  #uncount(group: Group): void {
    this.#count--;
    group.open--;
  }
}

/** Origins come from trusted packs and are few; past this many, groups without a connection are forgotten. */
const GROUPS_KEPT = 256;
