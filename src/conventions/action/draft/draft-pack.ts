/**
 * Drafts a pack from an API document: typed inputs where they fit, effects guessed on the strict side, and a remark
 * wherever a person must look. A draft is a text and nothing more; it is trusted like any pack, by a person who read it.
 */
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { classifyApi } from "../../upgrade/meaning/classify-api.ts";
import type { EffectVerdict } from "../../upgrade/meaning/effect.ts";
import { splitWords } from "../../upgrade/meaning/words.ts";
import type { Api, ApiOperation } from "../../upgrade/model/api.ts";
import type { PackFinding } from "../pack.ts";
import { readPack } from "../read.ts";
import { PACK_FORMAT } from "../schema/pack.ts";
import { chooseOperations, describeTags, type OperationChoice } from "./choose-operations.ts";
import { draftAction } from "./draft-action.ts";
import { type DraftedProvider, draftProvider } from "./draft-provider.ts";
import { cleanText, writeComment, writeFlow } from "./write-flow.ts";

export interface DraftRequest extends OperationChoice {
  readonly pack: string;
  /** Instead of the document's own. */
  readonly origin: string | null;
}

export interface PackDraft {
  readonly text: string;
  readonly actions: readonly string[];
  /** Operations that were asked for and are no action, each with its reason. */
  readonly leftOut: readonly { readonly operation: string; readonly why: string }[];
}

export function draftPack(api: Api, request: DraftRequest): PackDraft {
  return draftOperations(api, chooseOperations(api, request), request, classifyApi(api));
}

export function draftOperations(
  api: Api,
  chosen: readonly ApiOperation[],
  request: Pick<DraftRequest, "pack" | "origin">,
  verdicts: ReadonlyMap<ApiOperation, EffectVerdict>,
): PackDraft {
  if (!/^[a-z][a-z0-9-]{0,31}$/.test(request.pack))
    throw new Denied("value_not_allowed", "A pack's name is a-z, 0-9 and dashes, 32 characters at most.");
  const provider = draftProvider(api, chosen, request.pack, request.origin);
  const leftOut: PackDraft["leftOut"][number][] = [];
  const blocks = draftBlocks(api, chosen, verdicts, provider, leftOut);
  for (;;) {
    const actions = [...blocks.keys()];
    if (actions.length === 0) {
      const first = leftOut[0];
      throw new Denied("value_not_allowed", `None of the operations fits a pack. ${first?.operation}: ${first?.why}.`);
    }
    const text = assemble(api, request.pack, provider, [...blocks.values()], leftOut);
    requireRoom(api, text, blocks);
    const refused = refusedActions(text);
    if (refused.size === 0) return { text, actions, leftOut };
    // The reader has the last word: what it would refuse does not stand in the draft either.
    for (const [name, why] of refused) {
      leftOut.push({ operation: blocks.get(name)?.operation ?? name, why });
      blocks.delete(name);
    }
  }
}

interface Block {
  readonly operation: string;
  readonly lines: readonly string[];
}

function draftBlocks(
  api: Api,
  chosen: readonly ApiOperation[],
  verdicts: ReadonlyMap<ApiOperation, EffectVerdict>,
  provider: DraftedProvider,
  leftOut: PackDraft["leftOut"][number][],
): Map<string, Block> {
  const blocks = new Map<string, Block>();
  for (const operation of chosen) {
    const verdict = verdicts.get(operation);
    const basePath = provider.basePathOf(operation);
    if (verdict === undefined || basePath === null) {
      leftOut.push({ operation: operation.key, why: `it is served at ${operation.servers.join(", ")}` });
      continue;
    }
    const name = nameAction(operation, blocks);
    const frame = { api, basePath, takenHeaders: provider.takenHeaders, access: provider.accessNotes(operation) };
    const drafted = draftAction(name, operation, verdict, frame);
    if (drafted.kind === "drafted") blocks.set(name, { operation: operation.key, lines: drafted.lines });
    else leftOut.push({ operation: operation.key, why: drafted.why });
  }
  return blocks;
}

/** `issues/create` and `chat.postMessage` keep their parts, anything else becomes one word with underscores. */
function nameAction(operation: ApiOperation, taken: ReadonlyMap<string, unknown>): string {
  const parts = (operation.operationId ?? operation.key)
    .split(/[./]/)
    .map((part) =>
      splitWords(part)
        .join("_")
        .replace(/^[^a-z]+/, "")
        .slice(0, 56),
    )
    .filter((part) => part !== "");
  const base = operation.operationId !== null && parts.length <= 4 ? parts.join(".") : parts.join("_").slice(0, 56);
  const name = base === "" ? operation.method.toLowerCase() : base;
  for (let count = 1; ; count++) {
    const free = count === 1 ? name : `${name}_${count}`;
    if (!taken.has(free)) return free;
  }
}

function assemble(
  api: Api,
  pack: string,
  provider: DraftedProvider,
  blocks: readonly Block[],
  leftOut: PackDraft["leftOut"],
): string {
  const head = [
    `Drafted from ${cleanText(api.title)} ${cleanText(api.version)} (${api.dialect}, ${api.digest}).`,
    "Nothing here is trusted yet. Look at every REVIEW, and take out what agents do not need: the shorter, the safer.",
    "Effects are guesses on the strict side. Descriptions are the document's words, and agents will read them.",
    `Text without a limit in the document got maxLength ${defaults.packDraftTextLength}, lists maxItems ${defaults.packDraftItems}.`,
  ];
  const lines = [
    ...head.map(writeComment),
    ...leftOut.map(({ operation, why }) => writeComment(`REVIEW: ${operation} is left out: ${why}`.slice(0, 400))),
    `format: ${PACK_FORMAT}`,
    `pack: ${pack}`,
    `description: ${writeFlow(`${cleanText(api.title)}, version ${cleanText(api.version)}.`.slice(0, 300).toWellFormed())}`,
    "",
    ...provider.notes.map((note) => writeComment(`REVIEW: ${note}`)),
    "provider:",
    ...Object.entries(provider.wire).map(([name, value]) => `  ${name}: ${writeFlow(value)}`),
    "",
    "actions:",
    ...blocks.flatMap((block) => [...block.lines.map((line) => `  ${line}`), ""]),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function requireRoom(api: Api, text: string, blocks: ReadonlyMap<string, Block>): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= defaults.packBytes && blocks.size <= defaults.packActions) return;
  const whole = `${blocks.size} actions in ${bytes} bytes`;
  throw new Denied(
    "pack_too_large",
    `That makes ${whole}; a pack has at most ${defaults.packActions} actions in ${defaults.packBytes} bytes. Name what agents need with --operations, --tag, --path or --method, or draft a pack for each tag with --split. Its tags: ${describeTags(api, 12)}.`,
  );
}

/** By action, what the pack's own reader says against it. Trouble outside the actions is nobody's to leave out. */
function refusedActions(text: string): ReadonlyMap<string, string> {
  const refused = new Map<string, string>();
  for (const finding of readPack(Buffer.from(text, "utf8"), "draft").findings) {
    if (finding.severity !== "error") continue;
    const name = actionOf(finding);
    if (name === null) throw new Denied(finding.code, `The draft does not hold: ${finding.path} ${finding.message}`);
    if (!refused.has(name)) refused.set(name, finding.message);
  }
  return refused;
}

function actionOf({ path }: PackFinding): string | null {
  return /^\/actions\/([^/]+)/.exec(path)?.[1] ?? null;
}
