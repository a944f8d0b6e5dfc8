import { signCheckpoint } from "../audit/checkpoint/checkpoint.ts";
import { rawPublicOf } from "../audit/keys/raw.ts";
import type { VerifyReport } from "../audit/verify/report.ts";
import { describeReport } from "../audit/verify/words.ts";
import { Denied } from "../kernel/failure.ts";
import { checkLog } from "../surfaces/cli/audit/check-log.ts";
import type { VaultHome } from "../vault/files/home.ts";
import type { OpenOperator } from "../vault/operator.ts";

export interface LogRoom {
  /** With a checkpoint: also whether this is the log that it was made of. */
  verify(
    progress: (done: number, total: number) => void,
    checkpoint: string | null,
  ): Promise<{ report: VerifyReport; words: readonly string[] }>;
  /** A signed note about the head of a log that is intact. */
  checkpoint(): Promise<string>;
}

export function createLogRoom(
  folder: string,
  home: VaultHome,
  operator: OpenOperator,
  refresh: () => Promise<void>,
): LogRoom {
  return {
    async verify(progress, checkpoint) {
      await refresh();
      const vault = home.readVault();
      const report = await checkLog(folder, vault, {
        allowUnattested: true,
        onProgress: progress,
        // Whose signature a checkpoint may carry: any operator of this vault.
        ...(checkpoint === null
          ? {}
          : { checkpoint, operators: vault.operators.map(({ approverKey }) => approverKey) }),
      });
      return { report, words: describeReport(report) };
    },
    async checkpoint() {
      await refresh();
      const report = await checkLog(folder, home.readVault(), {
        operators: [rawPublicOf("ed25519", operator.approver.key)],
        allowUnattested: true,
      });
      if (report.exit !== 0 || report.sealed === null || report.logId === null) {
        throw new Denied("log_damaged", "No checkpoint was made: a log is signed for only while it is intact.");
      }
      const { frame, link, timeSeconds, seals } = report.sealed;
      const root = Buffer.from(report.root, "hex");
      return signCheckpoint({ logId: report.logId, seals, root, frame, link, timeSeconds }, operator.approver.key);
    },
  };
}
