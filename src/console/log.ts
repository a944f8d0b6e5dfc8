import type { VerifyReport } from "../audit/verify/report.ts";
import { describeReport } from "../audit/verify/words.ts";
import { Denied } from "../kernel/failure.ts";
import { checkLog } from "../surfaces/cli/audit/check-log.ts";
import { checkpointHome, NO_CHECKPOINT } from "../surfaces/cli/audit/checkpoint.ts";
import type { VaultCliPorts, VaultSession } from "../surfaces/cli/vault/session.ts";

export interface LogRoom {
  /** With a checkpoint: also whether this is the log that it was made of. */
  verify(
    progress: (done: number, total: number) => void,
    checkpoint: string | null,
  ): Promise<{ report: VerifyReport; words: readonly string[] }>;
  /** A signed note about the head of a log that is intact. */
  checkpoint(): Promise<string>;
}

export function createLogRoom(folder: string, session: VaultSession, ports: VaultCliPorts): LogRoom {
  return {
    async verify(progress, checkpoint) {
      const vault = session.home.readVault();
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
      const { made } = await checkpointHome(session, folder, ports);
      if (made === null) throw new Denied("log_damaged", NO_CHECKPOINT);
      return made.note;
    },
  };
}
