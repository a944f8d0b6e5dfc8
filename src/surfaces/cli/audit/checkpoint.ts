import type { KeyObject } from "node:crypto";
import { signCheckpoint } from "../../../audit/checkpoint/checkpoint.ts";
import { rawPublicOf } from "../../../audit/keys/raw.ts";
import type { Head } from "../../../audit/receipt.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { CliIo } from "../io.ts";
import { checkLog } from "./check-log.ts";
import { printReport } from "./verify.ts";

export interface AuditCheckpointOptions {
  readonly log: string;
  readonly json?: boolean;
  readonly vault: Pick<Vault, "lineage"> | null;
  readonly rememberedHead?: Pick<Head, "frame" | "link">;
}

/** `gw audit checkpoint`: checks the log, then prints a note that the operator signs. Keep it somewhere else. */
export async function runAuditCheckpoint(
  options: AuditCheckpointOptions,
  approverKey: KeyObject,
  io: CliIo,
): Promise<0 | 1 | 2> {
  const report = await checkLog(options.log, options.vault, {
    operators: [rawPublicOf("ed25519", approverKey)],
    allowUnattested: true,
    ...(options.rememberedHead === undefined ? {} : { heads: [options.rememberedHead] }),
  });
  if (report.exit !== 0 || report.sealed === null || report.logId === null) {
    io.err("No checkpoint was made: a log is signed for only while it is intact.");
    printReport(report, options.json === true, io);
    return report.exit === 0 ? 1 : report.exit;
  }
  const { frame, link, timeSeconds, seals } = report.sealed;
  const root = Buffer.from(report.root, "hex");
  const note = signCheckpoint({ logId: report.logId, seals, root, frame, link, timeSeconds }, approverKey);
  io.out(options.json === true ? JSON.stringify({ checkpoint: note, seals, frame, link }) : note.trimEnd());
  return 0;
}
