import type { Digest } from "../kernel/canonical-json.ts";
import { Denied } from "../kernel/failure.ts";
import { lineageHead } from "./lineage.ts";
import { FIRST_LINE, type Vault } from "./vault.ts";

/** What to remember of a vault outside its file, to know an old or a forked copy again. Holds no secret. */
export interface VaultAnchor extends LoggedAnchor {
  readonly vaultId: string;
  readonly lineageLength: number;
  readonly lineageHead: Digest;
  readonly notesSerial: number;
}

/** Which line of a vault this is: copies that an operator restored go their own way under their own names. */
export function lineOf({ restored }: Pick<Vault, "restored">): string {
  return restored?.line ?? FIRST_LINE;
}

/** The part that goes into the log's OPEN frame. */
export interface LoggedAnchor {
  readonly generation: number;
  readonly manifestHash: Digest;
}

export function anchorOf(vault: Vault): VaultAnchor {
  const head = vault.lineage.at(-1);
  if (head === undefined) throw new Denied("vault_tampered", "The vault names no operator.");
  return {
    vaultId: vault.vaultId,
    generation: vault.generation,
    manifestHash: vault.manifestHash,
    lineageLength: vault.lineage.length,
    lineageHead: lineageHead(head),
    notesSerial: vault.notes.serial,
  };
}

/** Refuses a vault that does not continue what was remembered. `newer` means: remember the new anchor. */
export function checkAnchor(remembered: LoggedAnchor | VaultAnchor, vault: Vault): "same" | "newer" {
  if (vault.generation < remembered.generation) {
    throw new Denied(
      "vault_rolled_back",
      `vault.json is generation ${vault.generation}, and generation ${remembered.generation} was seen before: this is an old copy. Put the newest one back; if it is lost, see gw restore.`,
    );
  }
  const sameGeneration = vault.generation === remembered.generation;
  if (sameGeneration && vault.manifestHash !== remembered.manifestHash)
    forked("it differs from the one seen at its generation");
  if ("vaultId" in remembered) {
    if (vault.vaultId !== remembered.vaultId) forked("another operator founded it");
    const known = vault.lineage[remembered.lineageLength - 1];
    if (known === undefined || lineageHead(known) !== remembered.lineageHead)
      forked("its operators are not those seen before");
    // With an operator's removal comes another service key, and under it the count of whoever removed them begins.
    const rekeyed = vault.lineage.slice(remembered.lineageLength).some(({ change }) => change === "remove");
    if (!rekeyed && vault.notes.serial < remembered.notesSerial) {
      throw new Denied("vault_rolled_back", "The suspensions in vault.json are older than those seen before.");
    }
    return sameGeneration && vault.notes.serial === remembered.notesSerial ? "same" : "newer";
  }
  return sameGeneration ? "same" : "newer";
}

function forked(why: string): never {
  throw new Denied(
    "vault_forked",
    `vault.json is not the vault that was used here before: ${why}. Restore the newest copy you trust.`,
  );
}
