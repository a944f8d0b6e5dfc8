import type { Cutter } from "../../../audit/cut/cut.ts";
import type { VerifyReport } from "../../../audit/verify/report.ts";
import { scanOnThreads } from "../../../audit/verify/scan-threads.ts";
import { type VerifyOptions, verifyLog } from "../../../audit/verify/verify.ts";
import type { Vault } from "../../../vault/vault.ts";
import { createHandReader } from "./check-hand.ts";

/** The one way in which commands verify a log: whoever may have cut it, the vault's list of operators says. */
export function checkLog(
  folder: string,
  vault: Pick<Vault, "lineage"> | null,
  options: Omit<VerifyOptions, "folder" | "cutters"> = {},
): Promise<VerifyReport> {
  const cutters = vault === null ? {} : { cutters: cuttersOf(vault) };
  return verifyLog({ folder, readHand: createHandReader(), scanAhead: scanOnThreads, ...options, ...cutters });
}

/** Everybody who is or was an operator, by the name that the list has, and when they ceased to be one. */
export function cuttersOf({ lineage }: Pick<Vault, "lineage">): readonly Cutter[] {
  return lineage.flatMap((record) => {
    if (record.change !== "admit") return [];
    const removed = lineage.find(({ change, keyId }) => change === "remove" && keyId === record.keyId);
    const removedAtSeconds = removed === undefined ? null : Math.floor(Date.parse(removed.at) / 1000);
    return [{ key: record.approverKey, name: record.name, removedAtSeconds }];
  });
}
