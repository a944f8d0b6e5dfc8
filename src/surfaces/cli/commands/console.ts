import type { Command } from "commander";
import { defaults } from "../../../kernel/defaults.ts";
import type { ConsoleOptions } from "../options.ts";
import { whole } from "./budget-options.ts";
import { addOperatorCommand, type CliDeps, optionsOf } from "./deps.ts";
import { addHubOption } from "./hub.ts";

export function addConsoleCommand(program: Command, { finish, serveConsole }: CliDeps): void {
  addHubOption(
    addOperatorCommand(
      program,
      "console",
      "the operator's page in a browser: decide, look, revoke, enrol passkeys",
      "gw console\ngw console --hub postgres://ada@db.example/gw\ngw console --listen 192.168.1.7 --origin https://gw.home.example:7718 --tls-cert cert.pem --tls-key key.pem",
    ),
  )
    .option("--port <N>", "where it listens; passkeys belong to it", whole(1_024, 65_535), defaults.consolePort)
    .option("--listen <ADDR>", "for your phone: one address of this machine, under TLS; entered and decided by passkey")
    .option("--origin <URL>", "with --listen: the https:// address that a browser is given; passkeys belong to it")
    .option("--tls-cert <FILE>", "with --listen: the certificate and its chain, PEM")
    .option("--tls-key <FILE>", "with --listen: its private key, PEM, readable by you alone")
    .option("--enrol", "with --listen: print a link, good once, to enrol a passkey there", false)
    .action(async (_options, command: Command) => finish(await serveConsole(optionsOf<ConsoleOptions>(command))));
}
