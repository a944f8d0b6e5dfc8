import { type Connection, closeConnection, isReusable } from "./connection.ts";
import type { Stop, StopCause } from "./stop.ts";

/** Leave to use one connection of a group: an idle one, or room to dial a new one. Must be given back exactly once. */
export type Lease =
  | { readonly kind: "idle"; readonly connection: Connection }
  | { readonly kind: "room" }
  | { readonly kind: "stopped"; readonly cause: StopCause };

interface Waiter {
  readonly group: string;
  readonly addresses: readonly string[];
  readonly grant: (lease: Lease) => void;
}

/**
 * Bounded connections, grouped by what makes them interchangeable. Newest first, so that spare ones grow idle and
 * close. Those who wait hold no credential; they are served in order of arrival.
 */
export class Pool {
  readonly #idle = new Map<string, Connection[]>();
  readonly #open = new Map<string, number>();
  readonly #waiters: Waiter[] = [];
  readonly #perGroup: number;
  readonly #total: number;
  #count = 0;
  #closed = false;

  constructor(perGroup: number, total: number) {
    this.#perGroup = perGroup;
    this.#total = total;
  }

  get size(): number {
    return this.#count;
  }

  /** `addresses` is the answer this call got: a connection to any other address is out of date and is closed. */
  acquire(group: string, addresses: readonly string[], stop: Stop): Lease | Promise<Lease> {
    if (stop.cause !== null) return { kind: "stopped", cause: stop.cause };
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
  release(group: string, connection: Connection): void {
    if (this.#closed || !isReusable(connection)) {
      this.discard(group, connection);
      return;
    }
    const idle = this.#idle.get(group);
    if (idle === undefined) this.#idle.set(group, [connection]);
    else idle.push(connection);
    if (connection.uses === 1) connection.client.once("disconnect", () => this.#dropIdle(group, connection));
    this.#serve();
  }

  discard(group: string, connection: Connection): void {
    closeConnection(connection);
    this.forfeit(group);
  }

  /** Gives back room that no connection came to fill. */
  forfeit(group: string): void {
    this.#uncount(group);
    this.#serve();
  }

  close(): void {
    this.#closed = true;
    for (const [group, idle] of this.#idle) for (const connection of [...idle]) this.#dropIdle(group, connection);
  }

  #tryLease(group: string, addresses: readonly string[]): Lease | null {
    const idle = this.#idle.get(group);
    for (let connection = idle?.pop(); connection !== undefined; connection = idle?.pop()) {
      if (isReusable(connection) && addresses.includes(connection.address)) {
        if (idle?.length === 0) this.#idle.delete(group);
        return { kind: "idle", connection };
      }
      if (idle?.length === 0) this.#idle.delete(group);
      closeConnection(connection);
      this.#uncount(group);
    }
    if ((this.#open.get(group) ?? 0) >= this.#perGroup) return null;
    if (this.#count >= this.#total && !this.#evict()) return null;
    this.#count++;
    this.#open.set(group, (this.#open.get(group) ?? 0) + 1);
    return { kind: "room" };
  }

  #serve(): void {
    if (this.#waiters.length === 0) return;
    const full = new Set<string>();
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

  /** Makes room by closing the connection that has been idle in the group idle for longest. */
  #evict(): boolean {
    for (const [group, idle] of this.#idle) {
      const connection = idle[0];
      if (connection === undefined) continue;
      this.#removeIdle(group, idle, 0);
      closeConnection(connection);
      this.#uncount(group);
      return true;
    }
    return false;
  }

  #dropIdle(group: string, connection: Connection): void {
    const idle = this.#idle.get(group);
    const at = idle?.indexOf(connection) ?? -1;
    if (idle === undefined || at < 0) return;
    this.#removeIdle(group, idle, at);
    this.discard(group, connection);
  }

  #removeIdle(group: string, idle: Connection[], at: number): void {
    idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(group);
  }

  #uncount(group: string): void {
    this.#count--;
    const left = (this.#open.get(group) ?? 1) - 1;
    if (left === 0) this.#open.delete(group);
    else this.#open.set(group, left);
  }
}
