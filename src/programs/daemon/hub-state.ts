import { isSettled, type OperationState, operationStates } from "../../conventions/operation/state.ts";
import { ADOPTED, type LeftBehind, noteId } from "../../gateway/adopt.ts";
import type { StateRow, StateStore } from "../../gateway/ports.ts";
import type { StateKeeper } from "../../hub/state.ts";
import type { SharedRow } from "../../hub/state-rows.ts";
import { Denied } from "../../kernel/failure.ts";

export const STATE_PURPOSE = "hub state";

const CLAIM = "claim";

/** Whether another gateway would have to know of it, were this one lost: what is under way, and what holds the same call back. */
function isShared({ table, state, body, over }: StateRow, worker: string): boolean {
  if (over === true) return false;
  switch (table) {
    case "operations": {
      const { lease, resumes } = body as { lease?: { owner?: string } | null; resumes?: { outcome?: string }[] };
      if (lease != null && lease.owner !== worker) return false;
      return !isSettled(state as OperationState) || (resumes ?? []).some(({ outcome }) => outcome === "pending");
    }
    case "attempts":
      return body["side_effect"] === true;
    case "notes":
      return state === CLAIM || state === ADOPTED;
    case "runs":
    case "plans":
    case "deployments":
      return false;
  }
}

const isEver = ({ table, state }: StateRow): boolean =>
  table === "operations" || table === "attempts" || (table === "notes" && (state === CLAIM || state === ADOPTED));

const sharedOf = ({ table, id, runId, state, body }: StateRow): SharedRow => ({ table, id, runId, state, body });

/** What of this host's state is on the hub. */
export function sharedIn(from: StateStore, worker: string) {
  return {
    all(): readonly SharedRow[] {
      const rows = [
        ...operationStates.flatMap((state) => from.load("operations", state)),
        ...["sent", "unknown"].flatMap((state) => from.load("attempts", state)),
        ...[CLAIM, ADOPTED].flatMap((state) => from.load("notes", state)),
      ];
      return rows.flatMap((row) => ("tampered" in row || !isShared(row, worker) ? [] : [sharedOf(row)]));
    },
    find({ table, id }: Pick<SharedRow, "table" | "id">): SharedRow | null {
      const row = from.find(table as StateRow["table"], id);
      return row === null || "tampered" in row || !isShared(row, worker) ? null : sharedOf(row);
    },
  };
}

/** Whether a gateway had in its own state what it took over, by its rows. */
export function isHome(rows: readonly SharedRow[], { gateway, term }: { gateway: string; term: number }): boolean {
  return rows.some(({ table, id }) => table === "notes" && id === noteId(gateway, term));
}

/** Tables of ours alone: a newer gateway may share more than this one knows. */
export function takenOver(rows: readonly SharedRow[]): LeftBehind["rows"] {
  return rows.flatMap((row) => {
    const table = (["operations", "attempts", "notes"] as const).find((name) => name === row.table);
    return table === undefined ? [] : [{ ...row, table }];
  });
}

interface Sharing {
  /** Whether signed policy shares what is under way. */
  shares(): boolean;
  /** Null while there is no way to the hub. */
  keeper(): StateKeeper | null;
  readonly worker: string;
}

/**
 * The store of this host, of which the hub has what another gateway would need. The intent of a side effect is there before it is
 * here, so that nothing leaves that nobody else could know of; everything else goes up behind.
 */
export function shareStore(store: StateStore, { shares, keeper, worker }: Sharing): StateStore {
  function requireKeeper(): StateKeeper {
    const there = keeper();
    if (there !== null) return there;
    throw new Denied(
      "hub_unreachable",
      "Signed policy sends no side effect before it is on record on the hub, and this gateway has no way there. Nothing was sent. See gw status.",
    );
  }
  return {
    ...store,
    async commit(rows, durability) {
      const ever = shares() ? rows.filter(isEver) : [];
      // What must survive a power cut is the intent of a side effect.
      const first = durability === "power" ? ever.filter((row) => isShared(row, worker)) : [];
      const there = first.length > 0 ? requireKeeper() : null;
      await there?.put(first.map(sharedOf));
      try {
        await store.commit(rows, durability);
      } catch (error) {
        // It is on the hub and not here: what is here is put there again.
        keeper()?.touch(first);
        throw error;
      }
      // Another keeper may have told the hub meanwhile what was here before.
      if (there !== null && keeper() !== there) keeper()?.touch(first);
      if (ever.length > first.length) keeper()?.touch(ever.filter((row) => !first.includes(row)));
    },
    async change(table, id, change) {
      const row = await store.change(table, id, change);
      if (!shares() || row === null || "tampered" in row || !isShared(row, worker)) return row;
      // A lease is taken where everybody sees it: whoever lost the term finds out before anything is read.
      await requireKeeper().put([sharedOf(row)]);
      return row;
    },
  };
}
