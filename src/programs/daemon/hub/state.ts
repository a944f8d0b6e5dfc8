import { isSettled, type OperationState, operationStates } from "../../../conventions/operation/state.ts";
import { ADOPTED, type LeftBehind, noteId } from "../../../gateway/adopt.ts";
import { isAlsoElsewhere, MINTED } from "../../../gateway/attempt/mint.ts";
import { requireReadable } from "../../../gateway/left-rows.ts";
import type { StateRow, StateStore } from "../../../gateway/ports.ts";
import type { SharedRow } from "../../../hub/state/rows.ts";
import type { StateKeeper } from "../../../hub/state/state.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { HeldSecret } from "../../../vault/held-secret.ts";

export const STATE_PURPOSE = "hub state";

const CLAIM = "claim";

/** Whether another gateway would have to know of it, were this one lost: what is under way, and what holds the same call back. */
function isShared({ table, state, body, over }: StateRow, worker: string): boolean {
  if (over === true) return false;
  switch (table) {
    case "operations": {
      const { lease, resumes } = body as { lease?: { owner?: string } | null; resumes?: { outcome?: string }[] };
      if (lease != null && lease.owner !== worker) return false;
      // Whoever had it first asks how it ended.
      if (typeof body["takenFrom"] === "string") return true;
      return !isSettled(state as OperationState) || (resumes ?? []).some(({ outcome }) => outcome === "pending");
    }
    case "attempts":
      return body["side_effect"] === true;
    case "notes":
      return NOTES.includes(state) && !isAlsoElsewhere({ body });
    // What ended can be undone by nobody.
    case "deployments":
      return state === "current";
    case "runs":
    case "plans":
      return false;
  }
}

const NOTES: readonly string[] = [CLAIM, ADOPTED, MINTED];

const isEver = ({ table, state }: StateRow): boolean =>
  ["operations", "attempts", "deployments"].includes(table) || (table === "notes" && NOTES.includes(state));

/** What an answer brought, and a provider would not give a second time. */
const isBrought = ({ table, state }: StateRow): boolean => table === "deployments" || state === MINTED;

/** Secrets in rows: where some gateways alone may lend the credential that brought one, it is sealed to them. */
export interface SecretGuard {
  /** Null where every gateway of the vault may have it. */
  hide(secret: HeldSecret): string | null;
  /** Null where this gateway may not. */
  show(id: string, sealed: string): string | null;
}

/** The member of a row that holds a secret. */
function secretIn({ table, state }: Pick<SharedRow, "table" | "state">): "capability" | "secret" | null {
  if (table === "deployments") return "capability";
  return table === "notes" && state === MINTED ? "secret" : null;
}

function sharedOf({ table, id, runId, state, body }: StateRow, guard: SecretGuard): SharedRow {
  const row = { table, id, runId, state, body };
  const member = secretIn(row);
  const text = member === null ? null : (body[member] ?? null);
  if (member === null || typeof text !== "string") return row;
  const credential = typeof body["credential"] === "string" ? body["credential"] : null;
  const held = guard.hide({ id, credential, text });
  return held === null ? row : { ...row, body: { ...body, [member]: null, held } };
}

/** As this gateway may have it; an operator can open what it may not. */
function broughtBack(row: SharedRow, guard: SecretGuard): SharedRow {
  const { held, ...body } = row.body;
  const member = secretIn(row);
  if (member === null || typeof held !== "string") return row;
  const text = guard.show(row.id, held);
  if (text !== null) return { ...row, body: { ...body, [member]: text } };
  return row.table === "deployments" ? { ...row, body } : row;
}

/** What of this host's state is on the hub. */
export function sharedIn(from: StateStore, worker: string, guard: SecretGuard) {
  return {
    /** An operator takes a secret into the vault beside this process. */
    isEndedElsewhere: ({ state }: SharedRow): boolean => state === MINTED,
    all(): readonly SharedRow[] {
      const rows = [
        ...operationStates.flatMap((state) => from.load("operations", state)),
        ...["sent", "unknown"].flatMap((state) => from.load("attempts", state)),
        ...NOTES.flatMap((state) => from.load("notes", state)),
        ...from.load("deployments", "current"),
      ];
      return rows.flatMap((row) => ("tampered" in row || !isShared(row, worker) ? [] : [sharedOf(row, guard)]));
    },
    find({ table, id }: Pick<SharedRow, "table" | "id">): SharedRow | null {
      const row = from.find(table as StateRow["table"], id);
      return row === null || "tampered" in row || !isShared(row, worker) ? null : sharedOf(row, guard);
    },
  };
}

/** Whether a gateway had in its own state what it took over, by its rows. */
export function isHome(rows: readonly SharedRow[], { gateway, term }: { gateway: string; term: number }): boolean {
  return rows.some(({ table, id }) => table === "notes" && id === noteId(gateway, term));
}

/** They are what a gateway writes, as far as they are ours to read. */
export function readableTo(guard: SecretGuard): (gateway: string, rows: readonly SharedRow[]) => void {
  return (gateway, rows) => requireReadable(gateway, takenOver(rows, guard));
}

/** Tables of ours alone: a newer gateway may share more than this one knows. */
export function takenOver(rows: readonly SharedRow[], guard: SecretGuard): LeftBehind["rows"] {
  return rows.flatMap((row) => {
    const table = (["operations", "attempts", "notes", "deployments"] as const).find((name) => name === row.table);
    return table === undefined ? [] : [{ ...broughtBack(row, guard), table }];
  });
}

interface Sharing {
  /** Whether signed policy shares what is under way. */
  shares(): boolean;
  /** Null while there is no way to the hub. */
  keeper(): StateKeeper | null;
  readonly worker: string;
  readonly guard: SecretGuard;
}

const nameOf = ({ table, id }: Pick<StateRow, "table" | "id">): string => `${table} ${id}`;

/** Rows on their way to disk and hub side by side, and what of them changed here meanwhile. */
interface Flight {
  readonly names: ReadonlySet<string>;
  readonly changed: StateRow[];
}

/** The store, and the hub beside it. */
export interface SharedStore extends StateStore {
  /** Resolves once the hub has the intent of this attempt, where it has to. Denied otherwise: nothing may leave then. */
  arrived(attemptId: string): Promise<void>;
}

/**
 * The store of this host, of which the hub has what another gateway would need. The intent of a side effect goes there while it is
 * written here, and what leaves waits for both (`arrived`): nothing leaves that nobody else could know of. Everything else goes up behind.
 */
export function shareStore(store: StateStore, { shares, keeper, worker, guard }: Sharing): SharedStore {
  function requireKeeper(): StateKeeper {
    const there = keeper();
    if (there !== null) return there;
    throw new Denied(
      "hub_unreachable",
      "Signed policy sends no side effect before it is on record on the hub, and this gateway has no way there. Nothing was sent. See gw status.",
    );
  }
  const shared = (row: StateRow): SharedRow => sharedOf(row, guard);
  /** Attempts that only read: never on the hub, and not looked for there when they end. Their last row does not say what they were. */
  const reads = new Set<string>();
  function isRead({ table, id, body, over }: StateRow): boolean {
    if (table !== "attempts") return false;
    if (over === true) return reads.delete(id);
    if (body["side_effect"] === false) reads.add(id);
    return reads.has(id);
  }
  /** Intents of effects and what the hub says to them, until they end here. What is not among them was never put there. */
  const leaving = new Map<string, Promise<void>>();
  const flights = new Set<Flight>();
  /** What changes while it is on its way is told once more behind it: until then the hub may have been given what is older than that. */
  function touch(rows: readonly StateRow[]): void {
    for (const { names, changed } of flights) for (const row of rows) if (names.has(nameOf(row))) changed.push(row);
    keeper()?.touch(rows);
  }
  return {
    ...store,
    async arrived(attemptId) {
      const arriving = leaving.get(attemptId);
      if (arriving !== undefined) return arriving;
      // Written before policy shared it, or before a lock that ended it.
      if (shares())
        throw new Denied(
          "hub_unreachable",
          "Signed policy sends no side effect before it is on record on the hub, and this one is not. Nothing was sent. Make the call again.",
        );
    },
    async commit(rows, durability) {
      for (const { table, id, state } of rows) if (table === "attempts" && state !== "sent") leaving.delete(id);
      if (!shares()) {
        // What was known of those under way is of no use: their ends would be looked for once, where nothing is.
        reads.clear();
        return store.commit(rows, durability);
      }
      const ever = rows.filter((row) => isEver(row) && !isRead(row));
      // What must survive a power cut is the intent of a side effect.
      const first = durability === "power" ? ever.filter((row) => isShared(row, worker)) : [];
      const there = first.length > 0 ? requireKeeper() : null;
      there?.requireReady();
      const arriving = there === null ? null : there.put(first.map(shared));
      // What it says is heard in `arrived`.
      arriving?.catch(() => undefined);
      const flight: Flight = { names: new Set(first.map(nameOf)), changed: [] };
      if (arriving !== null) flights.add(flight);
      try {
        await store.commit(rows, durability);
      } catch (error) {
        // It is on the hub, or will be, and not here: what is here is put there again.
        flights.delete(flight);
        const again = (): void => keeper()?.touch(first);
        void arriving?.then(again, again);
        throw error;
      }
      if (arriving !== null) {
        // Another keeper began meanwhile with what was here before: it has to have this too.
        const settled = arriving.then(() =>
          keeper() === there || !shares() ? undefined : requireKeeper().put(first.map(shared)),
        );
        const attempts = first.filter(({ table }) => table === "attempts");
        const land = (): void => {
          flights.delete(flight);
          if (flight.changed.length > 0) keeper()?.touch(flight.changed);
        };
        settled.then(land, land);
        if (attempts.length === 0) await settled;
        for (const { id } of attempts) leaving.set(id, settled);
      }
      const behind = ever.filter((row) => !first.includes(row));
      if (behind.length === 0) return;
      touch(behind);
      // Nobody is told of it before another gateway would have it too; a hub that is away right then gets it later.
      const brought = behind.filter((row) => isBrought(row) && isShared(row, worker));
      if (brought.length > 0)
        await keeper()
          ?.put(brought.map(shared))
          .catch(() => touch(brought));
    },
    async change(table, id, change) {
      const row = await store.change(table, id, change);
      if (!shares() || row === null || "tampered" in row || !isShared(row, worker)) return row;
      // A lease is taken where everybody sees it: whoever lost the term finds out before anything is read.
      await requireKeeper().put([shared(row)]);
      return row;
    },
  };
}
