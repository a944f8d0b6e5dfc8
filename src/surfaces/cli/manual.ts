import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { makeFolder } from "../../vault/files/make-folder.ts";
import { addCommand, type CliDeps } from "./commands/deps.ts";
import { exits } from "./io.ts";

/** Manual pages, written from the commands themselves: gw(1), and one page for each command. */
export function addManualCommand(program: Command, { io, version, clock, finish }: CliDeps): void {
  addCommand(
    program,
    "manual <DIR>",
    "write the manual pages, one for each command",
    "gw manual ./man && man ./man/gw-call.1",
  )
    .option("--date <DATE>", "the date on the pages; today by default")
    .action((folder: string, { date }: { readonly date?: string }) => {
      const heading = { date: date ?? new Date(clock.wallMs()).toISOString().slice(0, 10), version };
      const pages = [program, ...program.commands].map((command) => [nameOf(command), page(command, heading)] as const);
      makeFolder(folder, 0o755);
      for (const [name, text] of pages) writeFileSync(join(folder, `${name}.1`), text);
      io.out(`${pages.length} pages in ${folder}`);
      finish(exits.done);
    });
}

function page(command: Command, { date, version }: { readonly date: string; readonly version: string }): string {
  const name = nameOf(command);
  const others = command.parent === null ? command.commands.map((child) => nameOf(child)) : ["gw"];
  return [
    `.TH ${name.toUpperCase()} 1 ${date} "gw ${version}" "gw"`,
    ".SH NAME",
    `${roff(name)} \\- ${roff(command.description())}`,
    ".SH SYNOPSIS",
    `.B ${roff(wordsOf(command))}`,
    roff(command.usage()),
    ...(command.parent === null ? summary(command) : about(command)),
    ".SH OPTIONS OF EVERY COMMAND",
    ...optionsOf(rootOf(command)),
    ".SH EXIT STATUS",
    "0 done, 1 denied or failed (the code is printed), 2 usage, 3 gateway not reachable, 4 locked, 5 outcome unknown,",
    "6 approval still pending.",
    ".SH SEE ALSO",
    others.map((other) => `.BR ${roff(other)} (1)`).join(",\n"),
    "",
  ].join("\n");
}

function summary(program: Command): readonly string[] {
  const list = program.commands.flatMap((child) => [
    ".TP",
    `.B ${roff(`gw ${child.name()}`)}`,
    roff(child.description()),
  ]);
  const files = [
    [".I /var/lib/gw, ~/.gw", "the home: vault, policy, state and log; \\-\\-home or GW_HOME names another"],
    [".I /etc/gw/gw.yaml", "where the programs of this machine find the gateway"],
    [".I /usr/share/doc/gw/docs", "the documentation"],
  ].flatMap((lines) => [".TP", ...lines]);
  return [".SH COMMANDS", ...list, ".SH FILES", ...files];
}

function about(command: Command): readonly string[] {
  const visit = (each: Command): readonly string[] => [
    `.SS ${roff(`${wordsOf(each)} ${each.usage()}`)}`,
    roff(each.description()),
    ...each.registeredArguments.flatMap(({ description, name }) =>
      description === "" ? [] : [".TP", `.I ${roff(name())}`, roff(description)],
    ),
    ...optionsOf(each),
    ...each.commands.flatMap(visit),
  ];
  return [".SH DESCRIPTION", ...visit(command)];
}

function optionsOf(command: Command): readonly string[] {
  return command.options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ flags, description }) => [".TP", `.B ${roff(flags)}`, roff(description)]);
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${command.parent.name()}-${command.name()}`;
}

function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}

function rootOf(command: Command): Command {
  return command.parent === null ? command : rootOf(command.parent);
}

/** Text as roff prints it unchanged: no line begins with a control character, and a dash is the one that is typed. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}
