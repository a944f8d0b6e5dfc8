import type { OpenOperator } from "../../../vault/operator.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import type { Vault } from "../../../vault/vault.ts";

/** What a backup and a restoration need of the state and of the log's writer; the program brings it. */
export interface HomeKeeper {
  /** A copy of the state as one moment has it, also while a gateway writes it; false where there is none yet. */
  copyState(home: string, to: string): boolean;
  /** True while a gateway works on this home. */
  isInUse(home: string): boolean;
  /** Writes into the log of a home without a gateway that its older segments were moved away. */
  noteArchived(home: string, operator: OpenOperator, about: Archived): Promise<void>;
  /** Denied `store_unreadable` where there is a state and it is damaged: before anything is signed that it belongs to. */
  requireWholeState(home: string, vault: Vault, operator: OpenOperator): Promise<void>;
  /** Takes the state as it is for the newest, and writes into the log that an operator restored it. Returns the log's head. */
  settle(
    home: string,
    vault: Vault,
    policy: Policy,
    operator: OpenOperator,
    about: Restored,
  ): Promise<{ readonly frame: number; readonly link: string }>;
}

export interface Archived {
  readonly last_segment: number;
  readonly next_frame: number;
  readonly cut_digest: string;
}

export interface Restored {
  readonly generation: number;
  readonly policyVersion: number;
  /** Null where the home was taken as it was found. */
  readonly backup: string | null;
}
