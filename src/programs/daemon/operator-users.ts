import type { SqliteStateStore } from "../../adapters/store/sqlite/state.ts";
import type { JsonObject } from "../../kernel/json.ts";

/**
 * The users that operators work as: whoever proved an operator's key on this plane, under this gateway or an earlier one of
 * the home. Otherwise a start without a person would take an operator's user for an agent's until the next login.
 */
export interface OperatorUsers {
  has(uid: number): boolean;
  /** An operator's key spoke as this user. */
  see(uid: number, keyId: string): void;
  /** Goes on from what an earlier gateway kept, as far as the keys are still operators'. */
  open(store: SqliteStateStore, keyIds: readonly string[]): Promise<void>;
  close(): void;
}

const NOTE = "operator users";
const ROOT = 0;
/** More than any home has operators; the oldest makes room. */
const MOST = 256;

/** `own` is for the time of this process alone: whoever became the gateway's user for one command has not moved in. */
export function createOperatorUsers(own: number, onFault: (error: unknown) => void): OperatorUsers {
  const keyOf = new Map<number, string>();
  let opened: SqliteStateStore | null = null;

  async function keep(): Promise<void> {
    const users = [...keyOf].filter(([uid]) => uid !== own && uid !== ROOT).slice(-MOST);
    const body: JsonObject = { users: users.map(([uid, key_id]) => ({ uid, key_id })) };
    await opened?.commit([{ table: "notes", id: NOTE, runId: "", state: "kept", body }], "power");
  }

  return {
    has: (uid) => keyOf.has(uid),
    see(uid, keyId) {
      if (keyOf.get(uid) === keyId) return;
      keyOf.set(uid, keyId);
      void keep().catch(onFault);
    },
    async open(store, keyIds) {
      const row = store.find("notes", NOTE);
      const kept = row === null || "tampered" in row ? [] : (row.body["users"] as unknown as readonly Kept[]);
      for (const { uid, key_id } of kept) if (!keyOf.has(uid) && keyIds.includes(key_id)) keyOf.set(uid, key_id);
      opened = store;
      if (keyOf.size > 0) await keep();
    },
    close() {
      opened = null;
    },
  };
}

interface Kept {
  readonly uid: number;
  readonly key_id: string;
}
