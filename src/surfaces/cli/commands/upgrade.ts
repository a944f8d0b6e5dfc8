import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import { answering } from "../answer.ts";
import type { Exit } from "../io.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import type { Subject } from "../upgrade/assemble.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

interface Options extends BaseOptions {
  readonly pack?: string;
  readonly trust?: string;
  readonly probe?: string;
  readonly withoutEvidence: boolean;
  readonly reviews?: string;
  readonly map?: string;
  readonly updateMap: boolean;
  readonly html?: string;
  readonly out?: string;
}

interface DecideChoices extends OperatorOptions {
  readonly pack?: string;
  readonly trust?: string;
  readonly probe?: string;
  readonly proof?: string;
  readonly against?: string;
  readonly withoutEvidence: boolean;
  readonly finish: boolean;
  readonly report?: string;
  readonly reviews: string;
  readonly accept: boolean;
  readonly reject: boolean;
  readonly narrow?: string;
  readonly reason?: string;
}

interface ProbeChoices extends OperatorOptions {
  readonly corpus: string;
  readonly old: string;
  readonly new: string;
  readonly oldHeader?: string;
  readonly newHeader?: string;
  readonly reviews?: string;
  readonly html?: string;
  readonly approveSideEffects: boolean;
}

export function addUpgradeCommands(program: Command, deps: CliDeps): void {
  const { io, finish, operatorKeys, random } = deps;
  const upgrade = program.command("upgrade").description("what an API upgrade newly allows an existing credential");
  addCommand(
    upgrade,
    "review [OLD] [NEW]",
    "compare two API documents, and a pack that changes, on four surfaces; exit 1 while a difference is undecided",
    "gw upgrade review api-v1.yaml api-v2.yaml --pack acme.yaml --html report.html\ngw upgrade review api-v1.yaml api-v2.yaml --trust acme --probe probe.json --reviews reviews.yaml",
  )
    .option("--pack <FILE>", "the pack whose scopes are at stake")
    .option("--trust <NAME>", "the pack of this home that is to be trusted anew: every changed term of it counts")
    .option("--probe <FILE>", "the saved report of gw upgrade probe")
    .option("--without-evidence", "review a pack's change without documents or a probe", false)
    .option("--reviews <FILE>", "the review file with signed decisions")
    .option("--map <FILE>", "the reviewed authority map")
    .option("--update-map", "write the map anew", false)
    .option("--html <FILE>", "write the report as one self-contained page")
    .action(async (before: string | undefined, after: string | undefined, _options, command: Command) => {
      const options = optionsOf<Options>(command);
      const { runUpgradeReview } = await import("../upgrade/review.ts");
      finish(
        await answering(io, async () => {
          const subject = await subjectOf([before, after], options, random);
          return runUpgradeReview({ ...options, ...subject }, io, { operatorKeys: () => operatorKeys(options.home) });
        }),
      );
    });
  addCommand(
    upgrade,
    "corpus <OLD> <NEW>",
    "draft a corpus for probing both versions, with every value that only a person knows marked",
    "gw upgrade corpus api-v1.yaml api-v2.yaml --out corpus.yaml",
  )
    .option("--pack <FILE>", "the pack whose scopes are at stake")
    .option("--out <FILE>", "where to write; standard output without it")
    .action(async (before: string, after: string, _options, command: Command) => {
      const { runUpgradeCorpus } = await import("../upgrade/corpus.ts");
      finish(await runUpgradeCorpus({ ...optionsOf<Options>(command), before, after }, io));
    });
  addOperatorCommand(
    upgrade,
    "decide [WHAT...]",
    "sign a decision about differences, by their ids; without any, list what is open",
    "gw upgrade decide api-v1.yaml api-v2.yaml d-1f0c… --reviews reviews.yaml --accept --reason 'read only'\ngw upgrade decide --report probe.json --reviews reviews.yaml",
  )
    .requiredOption("--reviews <FILE>", "the review file with signed decisions")
    .option("--report <FILE>", "the saved JSON report of gw upgrade probe, in place of the two documents")
    .option("--pack <FILE>", "the pack whose scopes are at stake")
    .option("--trust <NAME>", "the pack of this home that is to be trusted anew: every changed term of it counts")
    .option("--probe <FILE>", "the saved report of gw upgrade probe")
    .option("--without-evidence", "review a pack's change without documents or a probe", false)
    .option("--accept", "let it in", false)
    .option("--reject", "refuse the upgrade for it", false)
    .option("--narrow <LABEL>", "let it in, with this narrower credential of the vault; needs two probes")
    .option(
      "--proof <FILE>",
      "the saved report of a probe with the narrower credential, where it is not the one under review",
    )
    .option("--against <FILE>", "the same with the credential in use")
    .option("--finish", "sign the whole change, when each difference of it is decided", false)
    .option("--reason <TEXT>", "why, in words")
    .action(async (what: readonly string[], _options, command: Command) => {
      finish(await answering(io, () => decide(what, optionsOf<DecideChoices>(command), deps)));
    });
  addOperatorCommand(
    upgrade,
    "probe",
    "send one corpus to both versions through the gateway, and compare what they did",
    'gw upgrade probe --corpus corpus.yaml --old https://api.acme.example --new https://api.acme.example --old-header "X-API-Version: 2026-04-01" --new-header "X-API-Version: 2026-10-01"',
  )
    .requiredOption("--corpus <FILE>", "what to send; its tokens come from the environment")
    .requiredOption("--old <URL>", "where the version in use answers")
    .requiredOption("--new <URL>", "where the new version answers")
    .option("--old-header <LINE>", "the header that selects the old version")
    .option("--new-header <LINE>", "the header that selects the new version")
    .option("--reviews <FILE>", "the review file with signed decisions")
    .option("--html <FILE>", "write the report as one self-contained page")
    .option("--approve-side-effects", "approve what the corpus marks, without being asked", false)
    .action(async (_options, command: Command) => {
      finish(await answering(io, () => probe(optionsOf<ProbeChoices>(command), deps)));
    });
}

/** Ids are told from file names by how they look, mistyped ones too: a document has an ending or stands in a folder. */
const ID = /^[dg]-[^./]*$/;

async function decide(what: readonly string[], options: DecideChoices, deps: CliDeps): Promise<Exit> {
  const { report, accept, reject, narrow, finish } = options;
  const ids = what.filter((word) => ID.test(word));
  const files = what.filter((word) => !ID.test(word));
  const of = report === undefined ? await subjectOf(files, options, deps.random) : { report };
  if (report !== undefined && files.length > 0)
    throw new Denied("schema_violation", "Name the documents, or a saved report with --report, not both.");
  const chosen = [accept, reject, narrow !== undefined].filter(Boolean).length;
  if (chosen !== (ids.length === 0 ? 0 : 1) || (finish && ids.length > 0))
    throw new Denied(
      "schema_violation",
      "A decision is one of --accept, --reject and --narrow, about at least one id; --finish stands alone.",
    );
  const { decideThroughGateway } = await import("../upgrade/through-gateway.ts");
  return decideThroughGateway(
    {
      ...options,
      of,
      ids,
      verdict: reject ? "rejected" : narrow === undefined ? "accepted" : "narrowed",
      reason: options.reason ?? "",
      narrowing: narrow ?? null,
    },
    deps,
  );
}

async function subjectOf(
  files: readonly (string | undefined)[],
  options: BaseOptions & { readonly trust?: string } & Pick<Subject, "pack" | "probe" | "withoutEvidence">,
  random: CliDeps["random"],
): Promise<Subject> {
  const [before, after, ...rest] = files.filter((file) => file !== undefined);
  if ((before === undefined) !== (after === undefined) || rest.length > 0)
    throw new Denied("schema_violation", "Name the two documents, OLD and NEW.");
  const { pack, probe, withoutEvidence = false } = options;
  const { changeOf } = await import("../upgrade/load-change.ts");
  return {
    ...(before === undefined || after === undefined ? {} : { before, after }),
    ...(pack === undefined ? {} : { pack }),
    ...(probe === undefined ? {} : { probe }),
    ...(options.trust === undefined ? {} : { change: changeOf(options.home, options.trust, random) }),
    withoutEvidence,
  };
}

async function probe(options: ProbeChoices, deps: CliDeps): Promise<Exit> {
  const { probeThroughGateway, readVersionHeader } = await import("../upgrade/through-gateway.ts");
  const old = { base: options.old, header: readVersionHeader(options.oldHeader) };
  const next = { base: options.new, header: readVersionHeader(options.newHeader) };
  return probeThroughGateway({ ...options, old, new: next, env: process.env }, deps);
}
