import { existsSync } from "node:fs";
import { join } from "node:path";
import { readLogId } from "../../../audit/read/marks.ts";
import { segmentsOf } from "../../../audit/read/place.ts";
import { rewrapSeeds } from "../../../audit/read/rewrap.ts";
import { noLogIn } from "../../../audit/verify/verify.ts";
import { counted } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { openHome, type VaultHome } from "../../../vault/files/home.ts";
import { publicKeyOf } from "../../../vault/keys.ts";
import { findSlot } from "../../../vault/operator.ts";
import { answering } from "../answer.ts";
import type { CliDeps } from "../commands/deps.ts";
import { type Exit, exits } from "../io.ts";
import { requireNameOfRun, runPackSuggest, type SuggestOptions } from "../learn/suggest.ts";
import type { OperatorOptions } from "../options.ts";
import { seenOf } from "../vault/seen.ts";
import { type ReaderSession, say, withOperator, withReader } from "../vault/session.ts";
import type { Signers } from "./check-hand.ts";
import { checkpointHome, runAuditCheckpoint, tellCheckpoint } from "./checkpoint.ts";
import { runAuditExport } from "./export.ts";
import type { JournalName } from "./filter.ts";
import { type JournalOptions, readJournal } from "./journals.ts";
import { requireNameOfThing, runActivityShow } from "./show.ts";

type LogOption = { readonly log?: string };

/** The commands that need an operator's keys: the log is opened in this process and nowhere else. */
export function runJournalCommand(
  journal: JournalName,
  options: OperatorOptions & Partial<JournalOptions>,
  deps: CliDeps,
): Promise<Exit> {
  const stop = new AbortController();
  process.once("SIGINT", () => stop.abort());
  const ports = { wallMs: deps.clock.wallMs, sleep: deps.sleep.sleep, signal: stop.signal };
  return answering(deps.io, () => {
    const print = readJournal(journal, { ...options, log: logOf(options, `gw ${journal}`) }, deps.io, ports);
    return withReader(options, deps.io, deps.vault, ({ operator }) => print(operator.readingKey));
  });
}

export function runShowCommand(
  id: string,
  options: OperatorOptions & LogOption & { readonly recording: boolean },
  deps: CliDeps,
): Promise<Exit> {
  const command = `gw activity show ${id}`;
  const show = async ({ home, operator }: ReaderSession, log: string): Promise<Exit> => {
    const keys = { readingKey: operator.readingKey, signers: signersOf(home) };
    return runActivityShow(id, { ...options, log, own: join(options.home, "audit") }, keys, deps.io);
  };
  return reading(options, command, deps, show, () => requireNameOfThing(id));
}

export function runSuggestCommand(
  options: OperatorOptions & LogOption & Omit<SuggestOptions, "log">,
  deps: CliDeps,
): Promise<Exit> {
  const suggest = ({ operator }: ReaderSession, log: string): Promise<Exit> =>
    runPackSuggest({ ...options, log }, operator.readingKey, deps.io);
  return reading(options, "gw pack suggest", deps, suggest, () => requireNameOfRun(options.run));
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
  return reading(options, "gw audit export", deps, ({ operator }, log) =>
    runAuditExport({ ...options, log }, operator.readingKey, deps.io),
  );
}

export function runCheckpointCommand(options: OperatorOptions & LogOption, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    const { log, json } = options;
    const folder = logOf(options, "gw audit checkpoint");
    return withOperator(options, deps.io, deps.vault, async (session) => {
      if (log === undefined) return tellCheckpoint(await checkpointHome(session, folder, deps.vault), json, deps.io);
      const asked = { log, json, vault: null, ...headOf(session, log, options, deps) };
      return await runAuditCheckpoint(asked, session.operator.approver.key, deps.io);
    });
  });
}

/** `gw audit share`: an operator who came later gets the seeds of the segments before, from one who reads them. */
export function runShareCommand(name: string, options: OperatorOptions & LogOption, deps: CliDeps): Promise<Exit> {
  return answering(deps.io, () => {
    requireReader(name, openHome(options.home, deps.random));
    const log = logOf(options, `gw audit share ${name}`);
    return withOperator(options, deps.io, deps.vault, async ({ home, operator }) => {
      const readingKey = requireReader(name, home);
      const segments = rewrapSeeds(log, operator.readingKey, publicKeyOf("x25519", readingKey), deps.random);
      const line = `${name} can read ${counted(segments.length, "segment")} of ${log} from before they came. Who has read cannot be made to forget.`;
      say(deps.io, options.json, { operator: name, log, segments }, line);
      return exits.done;
    });
  });
}

/** The key of an operator who may read the log. */
function requireReader(name: string, home: VaultHome): Buffer {
  const vault = home.readVault();
  const { readingKey } = findSlot(vault, name).keys;
  const { auditRecipients } = home.readPolicy(vault);
  if (auditRecipients.length > 0 && !auditRecipients.some(({ publicKey }) => publicKey.equals(readingKey)))
    throw new Denied("value_not_allowed", `Signed policy says who reads the log, and ${name} is not among them.`);
  return readingKey;
}

/** What this operator saw last of the home's log, where the folder holds a copy of that very log. */
function headOf({ home }: Pick<ReaderSession, "home">, log: string, options: OperatorOptions, deps: CliDeps) {
  const own = readLogId(join(options.home, "audit"));
  if (own === null || own !== readLogId(log)) return {};
  const { head } = seenOf(deps.vault.stateFolder, home.readVault());
  return head === null ? {} : { rememberedHead: head };
}

/** Reading signs nothing and hands nothing over: it works on a home that was put back too, and says so. */
function reading(
  options: OperatorOptions & LogOption,
  command: string,
  deps: CliDeps,
  work: (session: ReaderSession, log: string) => Promise<Exit>,
  requireSense: () => void = () => undefined,
): Promise<Exit> {
  return answering(deps.io, () => {
    // Whether there is a log, and what was asked could be in it, before a secret is typed to read it.
    const log = logOf(options, command);
    requireSense();
    return withReader(options, deps.io, deps.vault, (session) => work(session, log));
  });
}

/** The folder that `command` was told of, or the home's own. */
function logOf({ home, log }: OperatorOptions & LogOption, command: string): string {
  const own = join(home, "audit");
  if (log === undefined && existsSync(join(home, "vault.json")) && !existsSync(own))
    throw new Denied(
      "not_found",
      `Nothing is on record in ${home} yet: no gateway has run there. Start it with: gw up`,
    );
  if (log !== undefined && segmentsOf(log).length === 0) throw new Denied("not_found", noLogIn(log, command));
  return log ?? own;
}
