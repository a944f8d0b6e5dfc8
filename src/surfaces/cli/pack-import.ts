import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { draftPack, type PackDraft } from "../../conventions/action/draft/draft-pack.ts";
import { type SplitDraft, splitPacks } from "../../conventions/action/draft/split-packs.ts";
import { readDocument } from "../../conventions/upgrade/document/read-document.ts";
import { buildApi } from "../../conventions/upgrade/model/build-api.ts";
import { defaults } from "../../kernel/defaults.ts";
import { showText } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { makeFolder } from "../../vault/files/make-folder.ts";
import { answering } from "./answer.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { readBounded } from "./upgrade/files.ts";

export interface PackImportOptions {
  readonly json: boolean;
  /** The name of the pack to draft. */
  readonly pack: string;
  /** operationIds parted by commas. This or `all`. */
  readonly operations?: string;
  readonly all?: boolean;
  /** Each parted by commas. Any of them stands for `all` of what it lets through. */
  readonly tag?: string;
  readonly path?: string;
  readonly method?: string;
  /** A pack for each tag, into the folder that `out` names. */
  readonly split?: boolean;
  readonly origin?: string;
  /** Where to write; standard output without it. */
  readonly out?: string;
}

/** `gw pack import OPENAPI`: drafts a pack for a person to review. It writes a text, and nothing is trusted by that. */
export function runPackImport(document: string, options: PackImportOptions, io: CliIo): Promise<Exit> {
  return answering(io, async () => {
    const operations = listed(options.operations);
    const filters = { tags: listed(options.tag), paths: listed(options.path), methods: listed(options.method) };
    const filtered = Object.values(filters).some((filter) => filter.length > 0);
    if (options.all === true ? operations.length > 0 : operations.length === 0 && !filtered) {
      io.err("gw pack import: say --operations ID[,ID…], --all, or what to take with --tag, --path and --method.");
      return exits.usage;
    }
    if (options.split === true && options.out === undefined) {
      io.err("gw pack import: --split writes several files; name their folder with --out.");
      return exits.usage;
    }
    const bytes = await readBounded(document, defaults.upgradeDocumentBytes);
    const api = buildApi(readDocument(basename(document), bytes));
    const request = {
      pack: options.pack,
      operations: operations.length === 0 ? ("all" as const) : operations,
      ...filters,
      origin: options.origin ?? null,
    };
    if (options.split === true && options.out !== undefined)
      return writeSplit(splitPacks(api, request), options, options.out, io);
    const draft = draftPack(api, request);
    if (options.out !== undefined) await writeNew(options.out, draft.text);
    if (options.json) io.out(JSON.stringify(recordOf(draft, options), null, 2));
    else if (options.out === undefined) io.out(draft.text.trimEnd());
    else for (const line of summaryOf(draft, options.out)) io.out(line);
    return exits.done;
  });
}

function listed(text: string | undefined): readonly string[] {
  return (text ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

async function writeSplit(
  { packs, leftOut }: SplitDraft,
  options: PackImportOptions,
  folder: string,
  io: CliIo,
): Promise<Exit> {
  makeFolder(folder, 0o755);
  for (const { pack, text } of packs) await writeNew(join(folder, `${pack}.yaml`), text);
  if (options.json) {
    const records = packs.map((draft) =>
      recordOf(draft, { ...options, pack: draft.pack, out: join(folder, `${draft.pack}.yaml`) }),
    );
    io.out(JSON.stringify({ packs: records, left_out: leftOut }, null, 2));
    return exits.done;
  }
  for (const { pack, actions } of packs) io.out(`${showText(join(folder, `${pack}.yaml`))}: ${actions.length} actions`);
  for (const { operation, why } of leftOut) io.out(`left out: ${showText(operation)}: ${showText(why)}`);
  io.out(
    `${packs.length} drafts. None is trusted: look at the REVIEW remarks of those that agents need, and leave the rest.`,
  );
  return exits.done;
}

function recordOf({ text, actions, leftOut }: PackDraft, { pack, out }: PackImportOptions): object {
  const left = leftOut.map(({ operation, why }) => ({ operation, why }));
  return { pack, trusted: false, actions, left_out: left, ...(out === undefined ? { text } : { file: out }) };
}

function summaryOf({ actions, leftOut, text }: PackDraft, out: string): readonly string[] {
  const reviews = text.split("REVIEW").length - 1;
  const file = showText(out);
  return [
    `${file} is a draft of ${actions.length} ${actions.length === 1 ? "action" : "actions"}. It is not trusted.`,
    ...leftOut.map(({ operation, why }) => `left out: ${showText(operation)}: ${showText(why)}`),
    `Look at its ${reviews} REVIEW remarks and take out what agents do not need. Then: gw pack lint ${file}, gw pack add ${file}`,
  ];
}

/** A file that is there may be a pack somebody reviewed: it is never written over. */
export async function writeNew(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text, { flag: "wx", mode: 0o644 });
  } catch (error) {
    const errno = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    const why = errno === "EEXIST" ? "is there already; name another file or move it away" : `(${errno})`;
    throw new Denied("file_unreadable", `${path} cannot be written: ${why}.`);
  }
}
