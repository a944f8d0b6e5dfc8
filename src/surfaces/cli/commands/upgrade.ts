import type { Command } from "commander";
import type { BaseOptions } from "../options.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

interface Options extends BaseOptions {
  readonly pack?: string;
  readonly reviews?: string;
  readonly map?: string;
  readonly updateMap: boolean;
  readonly html?: string;
  readonly out?: string;
}

export function addUpgradeCommands(program: Command, { io, finish, operatorKeys }: CliDeps): void {
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
}
