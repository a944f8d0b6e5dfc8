import { type Command, Option } from "commander";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import type { PackImportOptions } from "../pack-import.ts";
import type { PackPlaceOptions } from "../pack-place.ts";
import type { ReviewedOptions } from "../upgrade/require-review.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

export function addPackCommands(program: Command, deps: CliDeps): void {
  const { io, vault, finish, operatorKeys } = deps;
  const pack = program.command("pack").description("action packs: what agents may ask for");
  addCommand(
    pack,
    "add <FILE>",
    "copy a sound pack into the home; nothing is trusted by that",
    "gw pack add packs/example.yaml",
  ).action(async (file: string, _options, command: Command) =>
    finish(await (await import("../packs.ts")).runPackAdd(file, optionsOf(command), io)),
  );
  addCommand(pack, "list", "packs of this home and whether they are trusted", "gw pack list").action(
    async (_options, command: Command) =>
      finish(await (await import("../packs.ts")).runPackList(optionsOf(command), io, vault)),
  );
  addCommand(
    pack,
    "show <NAME> [ACTION]",
    "what it may reach, with which credential, and what changed since it was trusted; or one action whole",
    "gw pack show github issue.create",
  ).action(async (name: string, action: string | undefined, _options, command: Command) =>
    finish(await (await import("../pack-show.ts")).runPackShow(name, action, optionsOf(command), io, vault)),
  );
  addOperatorCommand(
    pack,
    "place <NAME>",
    "sign where this home reaches its provider; without --origin, where the pack says",
    "gw pack place github --origin https://github.acme.example --base-path /api/v3",
  )
    .option("--origin <URL>", "the origin of your installation")
    .option("--base-path <PATH>", "before every path of the pack, such as /api/v3")
    .addOption(new Option("--network <WHERE>", "which addresses").choices(["public", "private"]).default("public"))
    .action(async (name: string, _options, command: Command) =>
      finish(
        await (await import("../pack-place.ts")).runPackPlace(name, optionsOf<PackPlaceOptions>(command), io, vault),
      ),
    );
  addCommand(
    pack,
    "lint <FILE>",
    "check a pack; every finding with file, line and column",
    "gw pack lint acme.yaml",
  ).action(async (file: string, _options, command: Command) => {
    const { json, home } = optionsOf<BaseOptions>(command);
    const [{ runPackLint }, { openHome }, { summariesOf }] = await Promise.all([
      import("../pack-lint.ts"),
      import("../../../vault/files/home.ts"),
      import("../../../vault/summary.ts"),
    ]);
    const credentials = () => {
      try {
        return summariesOf(openHome(home, deps.random).readVault());
      } catch {
        // A pack can be checked anywhere; a home that cannot be read has commands of its own to say so.
        return [];
      }
    };
    finish(await runPackLint(file, { json }, io, credentials));
  });
  addCommand(
    pack,
    "import <OPENAPI>",
    "draft a pack from an OpenAPI document, marked for review; nothing is trusted by that",
    "gw pack import openapi.json --operations getSite,listSites --pack netlify --out netlify.yaml",
  )
    .requiredOption("--pack <NAME>", "the name of the pack to draft")
    .option("--operations <IDS>", "operationIds parted by commas, or METHOD /path")
    .option("--all", "every operation of the document")
    .option("--tag <TAGS>", "only operations with one of these tags, parted by commas")
    .option("--path <PREFIXES>", "only operations whose path begins so, parted by commas")
    .option("--method <METHODS>", "only these methods, parted by commas")
    .option("--split", "a pack for each tag, into the folder of --out", false)
    .option("--origin <URL>", "instead of the document's own")
    .option("--out <FILE>", "a new file; standard output without it")
    .action(async (document: string, _options, command: Command) => {
      const options = optionsOf<BaseOptions & PackImportOptions>(command);
      finish(await (await import("../pack-import.ts")).runPackImport(document, options, io));
    });
  addOperatorCommand(
    pack,
    "suggest",
    "draft packs from what the log kept of requests that a contained run was refused; nothing is trusted by that",
    "gw pack suggest --run run_01k... --out drafts",
  )
    .requiredOption("--run <RUN>", "the run whose refusals are read")
    .option("--out <DIR>", "a folder for the drafts, one file a provider; standard output without it")
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly run: string; readonly out?: string }>(command);
      finish(await (await import("../audit/commands.ts")).runSuggestCommand(options, deps));
    });
  addOperatorCommand(
    pack,
    "trust <NAME> [OLD] [NEW]",
    "sign this exact pack into policy; one that differs from what was trusted needs a finished review",
    "gw pack trust acme\ngw pack trust acme api-v1.yaml api-v2.yaml --probe probe.json --reviews reviews.yaml",
  )
    .option("--reviews <FILE>", "the review file with a signed decision about each difference, and about the whole")
    .option("--probe <FILE>", "the saved report of gw upgrade probe")
    .option("--beside <PACK>", "you want it beside PACK, which goes to the same place and which it only adds to")
    .option("--without-evidence", "the review was signed without documents or a probe", false)
    .action(async (name: string, old: string | undefined, next: string | undefined, _options, command: Command) => {
      const options = optionsOf<OperatorOptions & Omit<ReviewedOptions, "documents">>(command);
      const documents = [old, next].filter((file) => file !== undefined);
      const { runPackTrust } = await import("../packs.ts");
      const { tellChangesOf } = await import("../pack-show.ts");
      const keys = () => operatorKeys(options.home);
      const tell = tellChangesOf(options.home, vault);
      finish(await runPackTrust(name, { ...options, documents }, io, vault, keys, tell));
    });
  addOperatorCommand(pack, "remove <NAME>", "take its trust and its file away", "gw pack remove acme").action(
    async (name: string, _options, command: Command) =>
      finish(await (await import("../packs.ts")).runPackRemove(name, optionsOf(command), io, vault)),
  );
}
