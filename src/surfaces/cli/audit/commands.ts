import { join } from "node:path";
import type { VaultHome } from "../../../vault/files/home.ts";
import { publicKeyOf } from "../../../vault/keys.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import type { Exit } from "../io.ts";
import { readHead } from "../operator/remembered-head.ts";
import type { OperatorOptions } from "../options.ts";
import { withOperator } from "../vault/session.ts";
import { runAuditCheckpoint } from "./checkpoint.ts";
import { runAuditExport } from "./export.ts";
import { type JournalOptions, runActivity, runSessions } from "./journals.ts";
import { runActivityShow } from "./show.ts";
import type { Signers } from "./trace-record.ts";

type LogOption = { readonly log?: string };

/** The commands that need an operator's keys: the log is opened in this process and nowhere else. */
export function runJournalCommand(
  journal: "sessions" | "activity",
  options: OperatorOptions & Partial<JournalOptions>,
  deps: CliDeps,
): Promise<Exit> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  return answering(deps.io, () =>
    withOperator(options, deps.io, deps.vault, ({ operator }) => {
      const print = journal === "sessions" ? runSessions : runActivity;
      const ports = { sleep: deps.sleep.sleep, signal: stop.signal };
      return print({ ...options, log: logOf(options) }, operator.readingKey, deps.io, ports);
    }),
  );
}

export function runShowCommand(
  id: string,
  options: OperatorOptions & LogOption & { readonly recording: boolean },
  deps: CliDeps,
): Promise<Exit> {
  return answering(deps.io, () =>
    withOperator(options, deps.io, deps.vault, async ({ home, operator }) => {
      const reading = { readingKey: operator.readingKey, signers: signersOf(home) };
      return runActivityShow(id, { ...options, log: logOf(options) }, reading, deps.io);
    }),
  );
}

/** The operators that this vault knows now. */
export function signersOf(home: Pick<VaultHome, "readVault">): Signers {
  const { operators, vaultId } = home.readVault();
  return {
    vaultId,
    keys: operators.map(({ name, keyId, approverKey }) => ({
      ...{ name, keyId, publicKey: publicKeyOf("ed25519", approverKey) },
    })),
  };
}

export function runExportCommand(
  options: OperatorOptions & LogOption & { readonly people: boolean },
  deps: CliDeps,
): Promise<Exit> {
  return answering(deps.io, () =>
    withOperator(options, deps.io, deps.vault, ({ operator }) =>
      runAuditExport({ ...options, log: logOf(options) }, operator.readingKey, deps.io),
    ),
  );
}

export function runCheckpointCommand(options: OperatorOptions & LogOption, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () =>
    withOperator(options, deps.io, deps.vault, ({ operator }) => {
      const rememberedHead = readHead(deps.stateFolder, operator.vaultId);
      const head = rememberedHead === null ? {} : { rememberedHead };
      return runAuditCheckpoint({ ...options, log: logOf(options), ...head }, operator.approver.key, deps.io);
    }),
  );
}

function logOf({ home, log }: OperatorOptions & LogOption): string {
  return log ?? join(home, "audit");
}
