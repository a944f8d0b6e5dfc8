import { join } from "node:path";
import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import type { ArchiveOptions } from "../audit/archive.ts";
import type { JournalOptions } from "../audit/journals.ts";
import type { VouchOptions } from "../audit/vouch.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import { whole } from "./budget-options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption, type HubOption, isOnHub, withHubLogin } from "./hub.ts";

export function addAuditCommands(program: Command, deps: CliDeps): void {
  const { io, finish } = deps;
  const audit = program.command("audit").description("the sealed, chained log");
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  withHubLogin(
    addCommand(
      audit,
      "verify",
      "check the log offline, without any key: 0 intact, 1 not intact, 2 could not read",
      "gw audit verify --log ./copy-of-audit --operator <key>\ngw audit verify --hub postgres://ada@db.example/gw --operator <key>",
    ),
  )
    .option("--hub <URL>", "the logs of all gateways of a hub, from the hub alone")
    .option("--log <DIR>", "the log folder; the home's own without it")
    .option("--operator <KEY>", "pin who may attest: a public key, or a file with one (repeatable)", many)
    .option("--checkpoint <FILE>", "a checkpoint that the log must extend")
    .option("--allow-unattested", "accept segments that no operator attested", false)
    .option("--archive <DIR>", "a folder that older segments were moved to (repeatable)", many)
    .action(async (_options, command: Command) => {
      const options = optionsOf<
        BaseOptions & { readonly log?: string; readonly hub?: string; readonly operator?: readonly string[] }
      >(command);
      const { hub } = options;
      const vault = options.log === undefined ? await vaultOf(options.home, deps) : null;
      if (hub !== undefined) {
        const { runHubVerify } = await import("../hub/verify.ts");
        finish(await runHubVerify({ ...options, hub, vault, stateFolder: deps.vault.stateFolder }, io));
        return;
      }
      const { runAuditVerify } = await import("../audit/verify.ts");
      const own = vault === null ? {} : { vault };
      finish(await runAuditVerify({ ...options, ...own, log: options.log ?? join(options.home, "audit") }, io));
    });
  addOperatorCommand(
    audit,
    "archive <DIR>",
    "move closed segments out, with a checkpoint and a signed cut; the log goes on from there",
    "gw audit archive --before 2026-01-01 /mnt/archive/gw\ngw audit archive --keep-days 90 --keep-megabytes 2000 /mnt/archive/gw",
  )
    .option("--before <DATE>", "what was closed before this ISO 8601 date or time")
    .option("--keep-days <N>", "what is older than so many days", whole(0, 36_500))
    .option("--keep-megabytes <N>", "what is beyond so much, oldest first", whole(0, 1_000_000_000))
    .action(async (into: string, _options, command: Command) => {
      const { runArchive } = await import("../audit/archive.ts");
      finish(await runArchive(into, optionsOf<ArchiveOptions>(command), deps));
    });
  addOperatorCommand(
    audit,
    "checkpoint",
    "a signed note about the log's head, to keep elsewhere",
    "gw audit checkpoint > head.note",
  )
    .option("--log <DIR>", "the log folder; the home's own without it")
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly log?: string }>(command);
      const { runCheckpointCommand } = await import("../audit/commands.ts");
      finish(await runCheckpointCommand(options, deps));
    });
  addOperatorCommand(
    audit,
    "vouch",
    "look at parts that were written while nobody signed in, by gateways that have ended since, and sign for them",
    "gw audit vouch\ngw audit vouch --archive /mnt/archive/gw",
  )
    .option("--archive <DIR>", "a folder that older segments were moved to (repeatable)", many)
    .option(
      "--through <FRAME>",
      "the last frame that was looked at, where nobody can be asked",
      whole(0, 999_999_999_999_999),
    )
    .action(async (_options, command: Command) => {
      const { runVouch } = await import("../audit/vouch.ts");
      finish(await runVouch(optionsOf<VouchOptions>(command), deps));
    });
  addOperatorCommand(
    audit,
    "share <NAME>",
    "let an operator who came later read the older segments too",
    "gw audit share bob",
  )
    .option("--log <DIR>", "the log folder, such as an archive; the home's own without it")
    .action(async (name: string, _options, command: Command) => {
      const { runShareCommand } = await import("../audit/commands.ts");
      finish(await runShareCommand(name, optionsOf<OperatorOptions & { readonly log?: string }>(command), deps));
    });
  addOperatorCommand(
    audit,
    "export",
    "the whole log as JSON lines, redacted by the class of each field",
    "gw audit export > log.jsonl",
  )
    .option("--log <DIR>", "the log folder; the home's own without it")
    .option("--people", "show who decided", false)
    .action(async (_options, command: Command) => {
      const options = optionsOf<OperatorOptions & { readonly log?: string; readonly people: boolean }>(command);
      const { runExportCommand } = await import("../audit/commands.ts");
      finish(await runExportCommand(options, deps));
    });
  for (const [journal, about] of [
    ["sessions", "the Sessions journal: agent runs, who approved them, how they ended; newest first"],
    ["activity", "the Activity journal: one row a call, newest first"],
  ] as const) {
    const example = `gw ${journal} --since yesterday --limit 100\ngw ${journal} --hub postgres://ada@db.example/gw`;
    const command = addHubOption(addOperatorCommand(program, journal, about, example))
      .option("--log <DIR>", "the log folder; the home's own without it")
      .option("--run <RUN>", "only this run")
      .option("--caller <TEXT>", "only callers whose name holds this")
      .option("--action <NAME>", "only this action")
      .option("--outcome <OUTCOME>", "only this outcome")
      .option("--since <TIME>", "not before: 1h, 7d, today, yesterday, 2026-11-15, or a time of RFC 3339")
      .option("--until <TIME>", "before this time, said in the same ways")
      .option("--limit <N>", "so many of the newest, or all (20 for people, all with --json)")
      .option("--previews", "previews too", false)
      .option("--follow", "go on as the log grows", false)
      .action(async (_options, command: Command) => {
        const options = optionsOf<OperatorOptions & Partial<JournalOptions> & HubOption>(command);
        if (isOnHub(options)) {
          finish(await (await import("../hub/journals.ts")).runHubJournal(journal, options, deps));
          return;
        }
        const { runJournalCommand } = await import("../audit/commands.ts");
        finish(await runJournalCommand(journal, options, deps));
      });
    if (journal === "activity") addShow(command, deps);
  }
}

/** The home's own vault, where there is one to read: it says who may have cut the log. */
async function vaultOf(home: string, { random }: CliDeps) {
  const { openHome } = await import("../../../vault/files/home.ts");
  try {
    return openHome(home, random).readVault();
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

/** What `activity show` takes of the options of `activity` itself; the others choose rows, and one call is no choice. */
const OF_ONE_CALL = new Set(["--operator", "--passphrase-file", "--log"]);

function addShow(activity: Command, deps: CliDeps): void {
  const foreign = activity.options.filter(({ long }) => !OF_ONE_CALL.has(String(long)));
  const show = addCommand(
    activity,
    "show <ID>",
    "a call, event, operation or question: card, decision, request and outcome; or a recording",
    "gw activity show call_…",
  )
    .option("--recording", "the recording, where the pack asks for one", false)
    .action(async (id: string, _options, command: Command) => {
      const given = foreign.find((option) => activity.getOptionValueSource(option.attributeName()) === "cli");
      if (given !== undefined) command.error(`error: gw activity show takes no ${given.long}; it is for gw activity`);
      const options = optionsOf<OperatorOptions & { readonly log?: string; readonly recording: boolean }>(command);
      const { runShowCommand } = await import("../audit/commands.ts");
      deps.finish(await runShowCommand(id, options, deps));
    });
  const help = show.createHelp();
  show.configureHelp({
    ...show.configureHelp(),
    visibleGlobalOptions: (command) => help.visibleGlobalOptions(command).filter((option) => !foreign.includes(option)),
  });
}
