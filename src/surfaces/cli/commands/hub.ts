import type { Command } from "commander";
import type { HubLoginOptions } from "../hub/login.ts";
import type { HubLimitOptions, HubSetOptions } from "../hub/rules.ts";
import type { BaseOptions, OperatorOptions } from "../options.ts";
import { addCommand, addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";

/** Several hosts, one database between them that is trusted with nothing but being there. */
export function addHubCommands(program: Command, deps: CliDeps): void {
  const { finish } = deps;
  const hub = program.command("hub").description("several hosts on one Postgres database that need not be trusted");
  withHubLogin(
    addCommand(
      hub,
      "init <URL>",
      "make the tables and roles in a database, as its owner",
      "gw hub init postgres://owner@db.example:5432/gw --hub-ca /etc/gw/db-ca.pem",
    ),
  ).action(async (url: string, _options, command: Command) => {
    const { runHubInit } = await import("../hub/init.ts");
    finish(await runHubInit(url, optionsOf<BaseOptions & HubLoginOptions>(command), deps));
  });
  withHubLogin(
    addOperatorCommand(
      hub,
      "join <URL>",
      "give this host a key on a hub, signed by an operator; its log goes there from then on",
      "gw hub join postgres://web1@db.example:5432/gw --hub-ca /etc/gw/db-ca.pem",
    ),
  )
    .option("--name <NAME>", "the gateway's name on the hub; the host's own without it")
    .option("--group <NAME>", "a group that credentials can be lent by (repeatable)", many)
    .option(
      "--unlock-by-hub",
      "let operators unlock it by way of the hub: it keeps a key outside the sealed state for that",
    )
    .option("--despite <GATEWAY>", "do not believe this one which signed files it follows (repeatable)", many)
    .action(async (url: string, _options, command: Command) => {
      const { runHubJoin } = await import("../hub/join.ts");
      finish(await runHubJoin(url, optionsOf<OperatorOptions & HubLoginOptions>(command), deps));
    });
  addOperatorCommand(
    hub,
    "set",
    "sign what gateways of this vault do not do without the hub",
    "gw hub set --log before_answer --grace-s 60",
  )
    .option("--log <WHEN>", "before_answer: no answer before the log that tells of it is on the hub; or behind")
    .option("--grace-s <SECONDS>", "for how long reads go on while the hub is away, where answers wait for it")
    .option("--operations <WHERE>", "shared: what is under way is on the hub too, for another to take over; or own")
    .action(async (_options, command: Command) => {
      const { runHubSet } = await import("../hub/rules.ts");
      finish(await runHubSet(optionsOf<HubSetOptions>(command), deps));
    });
  addOperatorCommand(
    hub,
    "limit <NAME>",
    "sign how much all gateways together may do on a day",
    "gw hub limit deploys --counts side_effects --pack github --a-day 20",
  )
    .option("--counts <WHAT>", "attempts, side_effects or spend_cents")
    .option("--a-day <NUMBER>", "how many of them on one day (UTC), of all gateways that have this vault")
    .option("--pack <PACK>", "what is done with this pack")
    .option("--credential <LABEL>", "what is done with this credential")
    .option("--grant <GRANT>", "what this grant lets pass")
    .option("--remove", "end the limit")
    .action(async (name: string, _options, command: Command) => {
      const { runHubLimit } = await import("../hub/rules.ts");
      finish(await runHubLimit(name, optionsOf<HubLimitOptions>(command), deps));
    });
  addOperatorCommand(
    hub,
    "leave [NAME]",
    "send nothing there any more, this gateway or the named one; what is there stays, and stays provable",
    "gw hub leave\ngw hub leave web7",
  ).action(async (name: string | undefined, _options, command: Command) => {
    const { runHubLeave } = await import("../hub/leave.ts");
    finish(await runHubLeave(name, optionsOf<OperatorOptions>(command), deps));
  });
}

export function many(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

export function withHubLogin(command: Command): Command {
  return command
    .option("--hub-password-file <FILE>", "read the database's password from a private file, for scripts")
    .option("--hub-ca <FILE>", "PEM of the authority that vouches for the database; the system's own without it");
}

/** For commands that work on this host, or by way of a hub. */
export interface HubOption extends HubLoginOptions {
  readonly hub?: string;
}

/** `only` are further options of the command that say nothing without a hub: they are refused then, and not ignored. */
export function addHubOption(command: Command, ...only: readonly string[]): Command {
  const needing = ["--hub-password-file", "--hub-ca", ...only];
  return withHubLogin(
    command.option("--hub <URL>", "by way of a hub, for gateways elsewhere of this home's vault"),
  ).hook("preAction", (_, acting) => {
    if (acting.getOptionValue("hub") !== undefined) return;
    const idle = acting.options.find(
      (option) => needing.includes(option.long ?? "") && acting.getOptionValue(option.attributeName()) !== undefined,
    );
    if (idle !== undefined) acting.error(`error: ${idle.long} goes with --hub URL, and that is missing`);
  });
}

export function isOnHub<Options extends HubOption>(options: Options): options is Options & { readonly hub: string } {
  return options.hub !== undefined;
}
