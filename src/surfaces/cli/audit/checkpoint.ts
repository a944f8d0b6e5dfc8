import type { KeyObject } from "node:crypto";
import { signCheckpoint } from "../../../audit/checkpoint/checkpoint.ts";
import { rawPublicOf } from "../../../audit/keys/raw.ts";
import type { Head } from "../../../audit/receipt.ts";
import type { VerifyReport } from "../../../audit/verify/report.ts";
import { isoTime } from "../../../kernel/clock.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { CliIo } from "../io.ts";
import { noteMade } from "../vault/made.ts";
import { seenOf } from "../vault/seen.ts";
import type { VaultCliPorts, VaultSession } from "../vault/session.ts";
import { checkLog } from "./check-log.ts";
import { printReport } from "./verify.ts";

export interface AuditCheckpointOptions {
  readonly log: string;
  readonly json?: boolean;
  readonly vault: Pick<Vault, "lineage"> | null;
  readonly rememberedHead?: Pick<Head, "frame" | "link">;
}

export interface Checkpoint extends Pick<Head, "frame" | "link"> {
  readonly note: string;
  readonly seals: number;
}

interface Checked {
  readonly report: VerifyReport;
  /** Null where the log is not intact: a log is signed for only while it is. */
  readonly made: Checkpoint | null;
}

export const NO_CHECKPOINT = "No checkpoint was made: a log is signed for only while it is intact.";

/** `gw audit checkpoint`: checks the log, then prints a note that the operator signs. Keep it somewhere else. */
export async function runAuditCheckpoint(
  options: AuditCheckpointOptions,
  approverKey: KeyObject,
  io: CliIo,
): Promise<0 | 1 | 2> {
  return tellCheckpoint(await makeCheckpoint(options, approverKey), options.json === true, io);
}

/** Of a home's own log: it has to extend the head that this operator saw last, and gw doctor learns that one was made. */
export async function checkpointHome(
  { home, operator }: Pick<VaultSession, "home" | "operator">,
  log: string,
  { stateFolder, clock }: Pick<VaultCliPorts, "stateFolder" | "clock">,
): Promise<Checked> {
  const vault = home.readVault();
  const { head } = seenOf(stateFolder, vault);
  const asked = { log, vault, ...(head === null ? {} : { rememberedHead: head }) };
  const checked = await makeCheckpoint(asked, operator.approver.key);
  if (checked.made !== null) noteMade(stateFolder, vault.vaultId, "checkpoint", isoTime(clock.wallMs()));
  return checked;
}

export function tellCheckpoint({ report, made }: Checked, json: boolean, io: CliIo): 0 | 1 | 2 {
  if (made === null) {
    io.err(NO_CHECKPOINT);
    printReport(report, json, io);
    return report.exit === 0 ? 1 : report.exit;
  }
  const { note, seals, frame, link } = made;
  io.out(json ? JSON.stringify({ checkpoint: note, seals, frame, link }) : note.trimEnd());
  return 0;
}

async function makeCheckpoint(options: AuditCheckpointOptions, approverKey: KeyObject): Promise<Checked> {
  const report = await checkLog(options.log, options.vault, {
    operators: [rawPublicOf("ed25519", approverKey)],
    allowUnattested: true,
    command: "gw audit checkpoint",
    ...(options.rememberedHead === undefined ? {} : { heads: [options.rememberedHead] }),
  });
  if (report.exit !== 0 || report.sealed === null || report.logId === null) return { report, made: null };
  const { frame, link, timeSeconds, seals } = report.sealed;
  const root = Buffer.from(report.root, "hex");
  const note = signCheckpoint({ logId: report.logId, seals, root, frame, link, timeSeconds }, approverKey);
  return { report, made: { note, seals, frame, link } };
}
