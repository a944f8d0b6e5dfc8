import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import { answering } from "../answer.ts";
import type { Exit } from "../io.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

interface Options extends BaseOptions {
  readonly pack?: string;
  readonly reviews?: string;
  readonly map?: string;
  readonly updateMap: boolean;
  readonly html?: string;
  readonly out?: string;
}

interface DecideChoices extends OperatorOptions {
  readonly pack?: string;
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
  const { io, finish, operatorKeys } = deps;
  const upgrade = program.command("upgrade").description("what an API upgrade newly allows an existing credential");
  addCommand(
    upgrade,
    "review <OLD> <NEW>",
    "compare two API documents on four surfaces; exit 1 while a difference is undecided",
    "gw upgrade review api-v1.yaml api-v2.yaml --pack acme.yaml --html report.html",
  )
    .option("--pack <FILE>", "the pack whose scopes are at stake")
    .option("--reviews <FILE>", "the review file with signed decisions")
    .option("--map <FILE>", "the reviewed authority map")
    .option("--update-map", "write the map anew", false)
    .option("--html <FILE>", "write the report as one self-contained page")
    .action(async (before: string, after: string, _options, command: Command) => {
      const options = optionsOf<Options>(command);
      const { runUpgradeReview } = await import("../upgrade/review.ts");
      finish(
        await runUpgradeReview({ ...options, before, after }, io, { operatorKeys: () => operatorKeys(options.home) }),
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
    .option("--report <FILE>", "a saved JSON report in place of the two documents")
    .option("--pack <FILE>", "the pack whose scopes are at stake")
    .option("--accept", "let it in", false)
    .option("--reject", "refuse the upgrade for it", false)
    .option("--narrow <TEXT>", "let it in, with what was done so that less can be reached")
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

async function decide(what: readonly string[], options: DecideChoices, deps: CliDeps): Promise<Exit> {
  const { report, pack, accept, reject, narrow } = options;
  const [before, after, ...rest] = what;
  if (report === undefined && (before === undefined || after === undefined))
    throw new Denied("schema_violation", "Name the two documents, or a saved report with --report.");
  const ids = report === undefined ? rest : what;
  const chosen = [accept, reject, narrow !== undefined].filter(Boolean).length;
  if (chosen !== (ids.length === 0 ? 0 : 1))
    throw new Denied(
      "schema_violation",
      "A decision is one of --accept, --reject and --narrow, about at least one id.",
    );
  const { decideThroughGateway } = await import("../upgrade/through-gateway.ts");
  const documents = { before: before ?? "", after: after ?? "", ...(pack === undefined ? {} : { pack }) };
  return decideThroughGateway(
    {
      ...options,
      of: report === undefined ? documents : { report },
      ids,
      verdict: reject ? "rejected" : narrow === undefined ? "accepted" : "narrowed",
      reason: options.reason ?? "",
      narrowing: narrow ?? null,
    },
    deps,
  );
}

async function probe(options: ProbeChoices, deps: CliDeps): Promise<Exit> {
  const { probeThroughGateway, readVersionHeader } = await import("../upgrade/through-gateway.ts");
  const old = { base: options.old, header: readVersionHeader(options.oldHeader) };
  const next = { base: options.new, header: readVersionHeader(options.newHeader) };
  return probeThroughGateway({ ...options, old, new: next, env: process.env }, deps);
}
