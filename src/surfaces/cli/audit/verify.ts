import { createPublicKey } from "node:crypto";
import { existsSync } from "node:fs";
import { rawPublicOf } from "../../../audit/keys/raw.ts";
import type { Head } from "../../../audit/receipt.ts";
import type { VerifyReport } from "../../../audit/verify/report.ts";
import { describeReport } from "../../../audit/verify/words.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Vault } from "../../../vault/vault.ts";
import type { CliIo } from "../io.ts";
import { progressBar } from "../progress-bar.ts";
import { readGivenFile } from "../read-given-file.ts";
import { sayProse } from "../say-prose.ts";
import { checkLog } from "./check-log.ts";

export interface AuditVerifyOptions {
  readonly log: string;
  /** Keys of operators, as hex, base64 or PEM, or files that hold one. */
  readonly operator?: readonly string[];
  readonly checkpoint?: string;
  readonly allowUnattested?: boolean;
  readonly json?: boolean;
  /** Folders that segments were moved to. */
  readonly archive?: readonly string[];
  /** The vault of the log's own home: its list of operators says who may have cut the log. */
  readonly vault?: Pick<Vault, "lineage">;
  /** The head this operator saw last, from their own state folder. */
  readonly rememberedHead?: Pick<Head, "frame" | "link">;
}

/** `gw audit verify`: 0 intact, 1 not intact, 2 could not read. Needs nothing but the folder. */
export async function runAuditVerify(options: AuditVerifyOptions, io: CliIo): Promise<0 | 1 | 2> {
  const bar = progressBar(options.json === true ? null : (io.status ?? null));
  try {
    const report = await checkLog(options.log, options.vault ?? null, {
      ...(options.archive === undefined ? {} : { archives: options.archive }),
      ...(options.operator === undefined ? {} : { operators: options.operator.map(readOperatorKey) }),
      ...(options.checkpoint === undefined ? {} : { checkpoint: readGiven(options.checkpoint) }),
      ...(options.rememberedHead === undefined ? {} : { heads: [options.rememberedHead] }),
      allowUnattested: options.allowUnattested === true,
      command: "gw audit verify",
      onProgress: bar.show,
    }).finally(bar.clear);
    printReport(report, options.json === true, io);
    return report.exit;
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    if (options.json === true) io.out(JSON.stringify({ verdict: "unreadable", exit: 2, trouble: detail }));
    else io.err(`The log could not be checked: ${detail}`);
    return 2;
  }
}

export function printReport(report: VerifyReport, json: boolean, io: CliIo): void {
  if (json) io.out(JSON.stringify(report));
  else for (const line of describeReport(report)) sayProse(io, line, 2);
}

/** Checkpoints and public keys are short texts. */
function readGiven(path: string): string {
  return readGivenFile(path, defaults.publicKeyFileBytes, "file_unreadable").toString("utf8");
}

/** The 32 raw bytes of an Ed25519 public key. */
export function readOperatorKey(given: string): Buffer {
  const text = (existsSync(given) ? readGiven(given) : given).trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, "hex");
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return Buffer.from(text, "base64");
  if (text.startsWith("-----BEGIN PUBLIC KEY-----")) {
    try {
      return rawPublicOf("ed25519", createPublicKey(text));
    } catch {
      // Falls through to the one message about keys.
    }
  }
  throw new Denied(
    "value_not_allowed",
    "An operator's key is 32 bytes as hex or base64, a PEM, or a file that holds one.",
  );
}
