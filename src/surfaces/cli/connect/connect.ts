import { existsSync, fchmodSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Random } from "../../../kernel/clock.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import { nodeSteps, replaceFile, type WriteSteps } from "../../../vault/files/atomic-write.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { answering } from "../answer.ts";
import type { BudgetOptions } from "../commands/budget-options.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { programFile } from "../program-file.ts";
import { type Client, clients, type Entry, fileOf, findClient } from "./clients.ts";
import { diffLines } from "./diff.ts";
import { mergeJson } from "./merge-json.ts";
import { mergeToml } from "./merge-toml.ts";

export interface ConnectOptions extends BaseOptions, BudgetOptions {
  readonly write?: boolean;
  readonly file?: string;
  readonly name: string;
  readonly actions?: string;
}

const MAX_FILE_BYTES = 4_194_304;

/** `gw connect CLIENT`: what a client needs to find this gateway, printed, or merged into the client's own file. */
export function runConnect(
  id: string,
  options: ConnectOptions,
  io: CliIo,
  random: Random,
  program: string = programFile,
): Promise<Exit> {
  return answering(io, async () => {
    const client = findClient(id);
    if (client === undefined) {
      throw new Denied(
        "client_unknown",
        `There is no client "${showText(id)}". Known: ${clients.map((one) => one.id).join(", ")}.`,
      );
    }
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/.test(options.name)) {
      throw new Denied("schema_violation", "--name takes letters, digits, _ and -, at most 32.");
    }
    const entry = entryOf(options, program);
    if (program.includes("/_npx/")) {
      io.err(
        "warning: this gw runs from a cache that npx may empty. Install the package, and run gw connect from there.",
      );
    }
    const file = options.file === undefined ? fileOf(client) : resolve(options.file);
    if (options.write !== true) return print(client, entry, file, options, io);
    if (file === null) {
      throw new Denied("schema_violation", `${client.title} has no usual file: name it with --file FILE.`);
    }
    return merge(client, entry, file, options, io, random);
  });
}

function entryOf(options: ConnectOptions, program: string): Entry {
  const { home, name, actions, attempts, sideEffects, minutes, spend } = options;
  const given = { actions, attempts, "side-effects": sideEffects, minutes, spend };
  const words = Object.entries(given).flatMap(([word, value]) =>
    value === undefined ? [] : [`--${word}`, String(value)],
  );
  return { name, command: program, args: ["mcp", "--home", home, ...words] };
}

export function configurationOf(client: Client, entry: Entry, before: string, file: string): string {
  const merge = client.format === "json" ? mergeJson : mergeToml;
  return merge(before, client.path(entry.name), client.record(entry), file);
}

function print(client: Client, entry: Entry, file: string | null, { json }: ConnectOptions, io: CliIo): Exit {
  const text = configurationOf(client, entry, "", file ?? "the configuration");
  if (json) {
    io.out(JSON.stringify({ client: client.id, file, format: client.format, configuration: text }));
    return exits.done;
  }
  io.err(
    file === null
      ? `For ${client.title} (gw connect ${client.id} --file FILE --write merges it into a file of yours):`
      : `For ${client.title}, in ${file} (gw connect ${client.id} --write merges it there):`,
  );
  for (const line of text.replace(/\n$/, "").split("\n")) io.out(line);
  return exits.done;
}

function merge(client: Client, entry: Entry, file: string, { json }: ConnectOptions, io: CliIo, random: Random): Exit {
  const before = readBounded(file);
  const after = configurationOf(client, entry, before ?? "", file);
  const changed = after !== before;
  if (json) io.out(JSON.stringify({ client: client.id, file, changed }));
  else if (!changed) io.out(`${file} already says so.`);
  else for (const line of [showText(file), ...diffLines(before ?? "", after).map(showDiffLine)]) io.out(line);
  if (!changed) return exits.done;
  const folder = dirname(file);
  const isNew = before === null && !existsSync(folder);
  if (isNew) makeFolder(folder);
  // A file that stands behind a link is replaced where it stands, and the link stays.
  const target = before === null ? file : realpathSync(file);
  replaceFile(target, Buffer.from(after, "utf8"), random, stepsFor(before === null ? 0o600 : statSync(target).mode));
  if (isNew) io.err(`Made the folder ${showText(folder)}, which was not there.`);
  if (!json) io.out(`Written. Start ${client.title} again; its first call asks for your approval (gw watch).`);
  return exits.done;
}

/** Escaped like everything from a file, but for what the line begins with. */
function showDiffLine(line: string): string {
  const mark = /^(?:[-+ ] )?[ \t]*/.exec(line)?.[0] ?? "";
  return mark.replaceAll("\t", "    ") + showText(line.slice(mark.length).replace(/\r$/, ""));
}

/** The file keeps its mode, and nothing else in the client's folder is touched. */
function stepsFor(mode: number): WriteSteps {
  return {
    ...nodeSteps,
    create(path) {
      const descriptor = nodeSteps.create(path);
      fchmodSync(descriptor, mode & 0o777);
      return descriptor;
    },
    list: () => [],
  };
}

/** The text of the file, or null when there is none. */
function readBounded(file: string): string | null {
  try {
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > MAX_FILE_BYTES) {
      throw new Denied(
        "client_config_invalid",
        `${file} is no file, or larger than any configuration, and was left untouched.`,
      );
    }
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(file));
  } catch (error) {
    if (error instanceof TypeError) {
      throw new Denied("client_config_invalid", `${file} is not UTF-8 and was left untouched.`);
    }
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}
