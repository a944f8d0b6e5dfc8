import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import type { Review } from "../../../conventions/upgrade/compare/review.ts";
import { settleReview } from "../../../conventions/upgrade/decision/settle.ts";
import type { Reviewer } from "../../../conventions/upgrade/decision/statement.ts";
import { attestProbe, probeDigest } from "../../../conventions/upgrade/probe/attest.ts";
import { type Consequences, compareRuns } from "../../../conventions/upgrade/probe/compare-exchanges.ts";
import type { Corpus } from "../../../conventions/upgrade/probe/corpus-schema.ts";
import type { ProbeVersion, SendProbe } from "../../../conventions/upgrade/probe/exchange.ts";
import { describeMissingCases, expandCorpus, type ProbeCase } from "../../../conventions/upgrade/probe/expand.ts";
import { readCorpus } from "../../../conventions/upgrade/probe/read-corpus.ts";
import { runCorpus } from "../../../conventions/upgrade/probe/run.ts";
import { reportJson } from "../../../conventions/upgrade/report/json.ts";
import { buildReport } from "../../../conventions/upgrade/report/report.ts";
import { type Digest, digestBytes, digestJson } from "../../../kernel/canonical-json.ts";
import { type Clock, isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { Secret } from "../../../kernel/secret.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readBounded } from "./files.ts";
import { loadReviewFile, showReport } from "./review.ts";

export interface ProbeOptions {
  readonly json: boolean;
  readonly corpus: string;
  readonly old: ProbeVersion;
  readonly new: ProbeVersion;
  readonly reviews?: string;
  readonly html?: string;
  /** The environment of the command: where test tokens come from. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface ProbePorts {
  readonly clock: Pick<Clock, "wallMs">;
  operatorKeys(): Promise<readonly OperatorKey[]>;
  /** The operator whose process this is, who signs what it saw. */
  reviewer(): Promise<Reviewer>;
  /** A person says yes or no to the side effects that the corpus marks, having seen them. */
  approveSideEffects(cases: readonly ProbeCase[]): Promise<boolean>;
  /** Opens the way out for one version: every send is budgeted and logged, each token bound to this origin alone. */
  openSend(version: ProbeVersion, corpus: Corpus, tokens: ReadonlyMap<string, Secret>): Promise<SendProbe>;
  /** Into the log, durable when this resolves: that these very probes came to this result. */
  record(result: Digest): Promise<void>;
  /** Disables vault credentials at once; only an operator restores them. */
  disableCredentials(labels: readonly string[], reason: string): Promise<void>;
}

/** Whether there is all that would be sent, before anybody types a secret for it. */
export async function requireProbeInput(options: ProbeOptions): Promise<void> {
  const { tokens } = await readProbeInput(options);
  for (const token of tokens.values()) token.wipe();
}

/** Whoever reads it wipes the tokens. */
async function readProbeInput(options: ProbeOptions) {
  const bytes = await readBounded(options.corpus, defaults.upgradeCorpusBytes);
  const corpus = readCorpus(options.corpus, bytes);
  const cases = expandCorpus(corpus);
  const file = await loadReviewFile(options.reviews, corpus.api);
  return { bytes, corpus, cases, file, tokens: readTokens(corpus, cases, options.env) };
}

/** `gw upgrade probe`: the same corpus against both versions, and what differs in what they did. */
export function runUpgradeProbe(options: ProbeOptions, io: CliIo, ports: ProbePorts): Promise<Exit> {
  return answering(io, async () => {
    const { bytes, corpus, cases, file, tokens } = await readProbeInput(options);
    const acting = cases.filter(({ sideEffect }) => sideEffect);
    try {
      const sideEffectsApproved = acting.length > 0 && (await ports.approveSideEffects(acting));
      const run = async (version: ProbeVersion): ReturnType<typeof runCorpus> =>
        runCorpus(corpus, cases, version, await ports.openSend(version, corpus, tokens), { sideEffectsApproved });
      const before = await run(options.old);
      const after = await run(options.new);
      const { differences: seen, consequences } = compareRuns(before, after);
      await actOn(consequences, corpus, io, ports);
      const differences = [...seen, ...describeMissingCases(corpus)];
      const review = asReview(corpus, options, cases.length, differences);
      const settlement = settleReview(differences, file, await ports.operatorKeys());
      const report = buildReport(review, settlement);
      const runs = { corpus, corpusDigest: digestBytes(bytes), old: options.old, new: options.new, before, after };
      const probe = attestProbe(
        { ...runs, report: reportJson(report) },
        isoTime(ports.clock.wallMs()),
        await ports.reviewer(),
      );
      await ports.record(probeDigest(probe));
      const exit = await showReport({ ...report, probe }, options, io);
      return consequences.disable.length > 0 ? exits.denied : exit;
    } finally {
      for (const token of tokens.values()) token.wipe();
    }
  });
}

function readTokens(
  corpus: Corpus,
  cases: readonly ProbeCase[],
  env: ProbeOptions["env"],
): ReadonlyMap<string, Secret> {
  const used = new Set(cases.map(({ credential }) => credential));
  const tokens = new Map<string, Secret>();
  for (const [label, { env: name }] of Object.entries(corpus.credentials)) {
    if (!used.has(label)) continue;
    const token = env[name];
    if (token === undefined || token === "") {
      throw new Denied(
        "corpus_invalid",
        `The credential ${label} needs a test token in the environment variable ${name}.`,
      );
    }
    tokens.set(label, Secret.fromText(token));
  }
  return tokens;
}

async function actOn(consequences: Consequences, corpus: Corpus, io: CliIo, ports: ProbePorts): Promise<void> {
  if (consequences.disable.length === 0) return;
  const vault = [...new Set(consequences.disable.flatMap((label) => corpus.credentials[label]?.vault ?? []))].sort();
  if (vault.length > 0) await ports.disableCredentials(vault, "authority increase found by gw upgrade probe");
  io.err(
    `authority_increase: the new version allowed what had to be denied${vault.length === 0 ? "" : `; disabled in the vault: ${vault.map(showIdentifier).join(", ")}`}.`,
  );
  for (const line of consequences.open) io.err(`still open: ${line}`);
  if (vault.length > 0)
    io.err(
      `Then give the vault a narrower one: gw credential rotate ${vault.map(showIdentifier).join(", ")}. gw doctor lists it as suspended until then.`,
    );
}

/** A probe's differences are reported, grouped and decided exactly like those of documents. */
function asReview(corpus: Corpus, options: ProbeOptions, cases: number, differences: Review["differences"]): Review {
  const facts = (version: ProbeVersion): Review["before"] => {
    const selector = version.header === null ? "" : ` ${version.header.name}: ${version.header.value}`;
    const name = `${version.base}${selector}`;
    return {
      file: options.corpus,
      digest: digestJson({ corpus: options.corpus, name }),
      bytes: 0,
      dialect: "observed",
      title: corpus.api,
      version: name,
      operations: cases,
    };
  };
  return {
    before: facts(options.old),
    after: facts(options.new),
    counts: { added: 0, removed: 0, renamed: 0, kept: cases },
    differences,
    pack: [],
  };
}
