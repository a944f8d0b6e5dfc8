import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import type { Difference } from "../../../conventions/upgrade/compare/difference.ts";
import { type KnownCredential, requireNarrower } from "../../../conventions/upgrade/decision/narrow.ts";
import { writeReviewFile } from "../../../conventions/upgrade/decision/review-file.ts";
import {
  chooseDifferences,
  decideDifferences,
  requireFinished,
  type Settlement,
  settleReview,
} from "../../../conventions/upgrade/decision/settle.ts";
import type { Reviewer, SignedDecision, Verdict } from "../../../conventions/upgrade/decision/statement.ts";
import type { SignedProbe } from "../../../conventions/upgrade/probe/attest.ts";
import { kindWords } from "../../../conventions/upgrade/report/report.ts";
import { verdictLine } from "../../../conventions/upgrade/report/terminal.ts";
import { type Clock, isoTime } from "../../../kernel/clock.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { sayProse } from "../say-prose.ts";
import { assembleReview, loadProbe, type Subject } from "./assemble.ts";
import { writeWhole } from "./files.ts";
import { loadReviewFile } from "./review.ts";

export interface DecideOptions {
  /** What is under review, or the saved JSON report of a probe: what it observed is not sent again to be decided. */
  readonly of: Subject | { readonly report: string };
  readonly json: boolean;
  readonly reviews: string;
  /** Ids of differences or groups. None: list what is open. */
  readonly ids: readonly string[];
  readonly verdict: Verdict;
  readonly reason: string;
  /** The vault label of a narrower identity. */
  readonly narrowing: string | null;
  /** The saved report of a probe with that identity; without it, the probe under review. */
  readonly proof?: string;
  /** The same with the identity in use; without it, the probe under review. */
  readonly against?: string;
  /** Sign the whole review of a pack's change, when each difference of it is decided; with an id, this very one. */
  readonly finish?: boolean;
}

export interface DecidePorts {
  readonly clock: Pick<Clock, "wallMs">;
  operatorKeys(): Promise<readonly OperatorKey[]>;
  /** Unlocks the reviewer's key; asked for only when there is something to sign. */
  reviewer(): Promise<Reviewer>;
  /** What the vault says in public about its credentials. */
  credentials(): Promise<readonly KnownCredential[]>;
  /** Puts the decisions into the audit log, and resolves when they are durable there. */
  record(decisions: readonly SignedDecision[]): Promise<void>;
}

/** `gw upgrade decide`: one signed decision a difference, in the log first and then in the review file. */
export function runUpgradeDecide(options: DecideOptions, io: CliIo, ports: DecidePorts): Promise<Exit> {
  return answering(io, async () => {
    const { differences, settlement, added } = await decideUpgrade(options, ports);
    if (added === null) return listOpen(differences, settlement, options, io);
    const statements = added.map(({ statement }) => statement);
    if (options.json) io.out(JSON.stringify(statements, null, 2));
    else {
      const name = showIdentifier(statements[0]?.operator ?? "");
      io.out(`${statements.length} ${options.verdict} and signed by ${name} in ${showText(options.reviews)}.`);
      sayProse(io, verdictLine({ settlement }));
    }
    return exits.done;
  });
}

/** How a review stands: all that it is about, what is decided, and what this very call added to that. */
export interface UpgradeStanding {
  readonly differences: readonly Difference[];
  readonly settlement: Settlement;
  /** Null where nothing was to be decided. */
  readonly added: readonly SignedDecision[] | null;
}

type ReadPorts = Pick<DecidePorts, "clock" | "operatorKeys" | "credentials">;

/** What would be refused is refused before anybody types a secret for it. */
export async function requireDecidable(options: DecideOptions, ports: ReadPorts): Promise<void> {
  const { among, request } = await readDecision(options, ports);
  if (request !== null) chooseDifferences(among, request);
}

export async function decideUpgrade(
  options: Omit<DecideOptions, "json">,
  ports: DecidePorts,
): Promise<UpgradeStanding> {
  const { keys, whole, file, among, request } = await readDecision(options, ports);
  if (request === null) return { differences: whole, settlement: settleReview(whole, file, keys), added: null };
  const decided = decideDifferences(among, file, request, await ports.reviewer());
  await ports.record(decided.added);
  await writeWhole(options.reviews, writeReviewFile(decided.file));
  return { differences: whole, settlement: settleReview(whole, decided.file, keys), added: decided.added };
}

/** All of a decision but its signature; `request` is null where nothing is to be decided. */
async function readDecision(options: Omit<DecideOptions, "json">, ports: ReadPorts) {
  const keys = await ports.operatorKeys();
  const { api, differences, closing, probe, missing } = await loadDifferences(options.of, keys);
  const file = await loadReviewFile(options.reviews, api);
  if (options.finish === true && missing !== null) throw missing;
  const finish = options.finish === true ? requireWhole(closing, settleReview(differences, file, keys)) : null;
  if (finish !== null && options.ids.length > 0 && !options.ids.includes(finish.id)) {
    throw new Denied("review_mismatch", "The pack has changed since it was shown. Read it again, then decide.");
  }
  if (closing !== null && finish === null && options.ids.includes(closing.id)) {
    throw new Denied(
      "difference_unknown",
      `${closing.id} is the whole review: leave it out here, and sign it when all else is decided, with --finish.`,
    );
  }
  const whole = closing === null ? differences : [...differences, closing];
  if (options.ids.length === 0 && finish === null) return { keys, whole, file, among: [], request: null };
  if (options.narrowing !== null) {
    const read = async (file: string | undefined) =>
      file === undefined ? (probe?.statement ?? null) : (await loadProbe(file, keys)).signed.statement;
    const chosen = differences.filter(({ id, group }) => options.ids.includes(id) || options.ids.includes(group));
    const proof = { wide: await read(options.against), narrow: await read(options.proof) };
    requireNarrower(options.narrowing, await ports.credentials(), proof, chosen);
  }
  const request = {
    ids: finish === null ? options.ids : [finish.id],
    verdict: options.verdict,
    reason: options.reason,
    narrowing: options.narrowing,
    decidedAt: isoTime(ports.clock.wallMs()),
  };
  return { keys, whole, file, among: finish === null ? differences : [finish], request };
}

interface Loaded {
  readonly api: string;
  readonly differences: readonly Difference[];
  readonly closing: Difference | null;
  readonly probe: SignedProbe | null;
  readonly missing: Denied | null;
}

async function loadDifferences(of: DecideOptions["of"], keys: readonly OperatorKey[]): Promise<Loaded> {
  if (!("report" in of)) {
    const { review, ...rest } = await assembleReview(of, keys);
    return { api: review.after.title, differences: review.differences, ...rest };
  }
  const { signed, api, differences } = await loadProbe(of.report, keys);
  return { api, differences, closing: null, probe: signed, missing: null };
}

/** A review is finished from the files it is about, never from a report of it that somebody may have edited. */
function requireWhole(closing: Difference | null, settlement: Settlement): Difference {
  if (closing === null)
    throw new Denied(
      "review_mismatch",
      "Only the review of a pack's change is finished: name the pack with --trust NAME, and no --report.",
    );
  requireFinished(settlement);
  return closing;
}

/** Below the surface of a row: no name in a document reads as the beginning of another row. */
const HANG = 32;

function listOpen(differences: readonly Difference[], settlement: Settlement, options: DecideOptions, io: CliIo): Exit {
  const waiting = new Set(settlement.open.map(({ id }) => id));
  const open = differences.filter(({ id }) => waiting.has(id));
  if (options.json)
    io.out(
      JSON.stringify(
        open.map(({ id, group, surface, kind, subject, says }) => ({ id, group, surface, kind, subject, says })),
        null,
        2,
      ),
    );
  else {
    for (const { id, group, surface, kind, subject } of open) {
      sayProse(io, `${id} ${group} ${surface.padEnd(22)} ${kindWords(kind)}: ${showIdentifier(subject)}`, HANG);
    }
    sayProse(io, verdictLine({ settlement }));
  }
  return settlement.verdict === "finished" ? exits.done : exits.denied;
}
