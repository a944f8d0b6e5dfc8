import { signCheckpoint } from "../audit/checkpoint/checkpoint.ts";
import { rawPublicOf } from "../audit/keys/raw.ts";
import type { VerifyReport } from "../audit/verify/report.ts";
import { describeReport } from "../audit/verify/words.ts";
import { Denied } from "../kernel/failure.ts";
import { checkLog } from "../surfaces/cli/audit/check-log.ts";
import type { VaultHome } from "../vault/files/home.ts";
import type { OpenOperator } from "../vault/operator.ts";

export interface LogRoom {
  verify(progress: (done: number, total: number) => void): Promise<{ report: VerifyReport; words: readonly string[] }>;
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
    async verify(progress) {
      await refresh();
      const report = await checkLog(folder, home.readVault(), { allowUnattested: true, onProgress: progress });
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
