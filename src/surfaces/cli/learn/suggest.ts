import type { KeyObject } from "node:crypto";
import { mkdirSync } from "node:fs";
import { gatherContents } from "../../../audit/journals/contents.ts";
import { draftLearned } from "../../../conventions/action/learn/draft-learned.ts";
import type { RefusedRequest } from "../../../conventions/action/learn/read-samples.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readId } from "../../../kernel/ids.ts";
import { isJsonObject } from "../../../kernel/json.ts";
import { readAll } from "../audit/show.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { writeDrafts } from "./write-drafts.ts";

export interface SuggestOptions {
  readonly run: string;
  readonly log: string;
  readonly out?: string;
  readonly json: boolean;
}

/** `gw pack suggest --run RUN`: drafts packs from what the log kept of requests that no action said. */
export async function runPackSuggest(options: SuggestOptions, readingKey: KeyObject, io: CliIo): Promise<Exit> {
  const requests = readRefused(options.log, readingKey, options.run);
  const drafts = draftLearned(requests);
  if (options.out !== undefined) mkdirSync(options.out, { recursive: true });
  const lines = options.out === undefined ? null : await writeDrafts(drafts, options.out);
  if (options.json) io.out(JSON.stringify({ run_id: options.run, refused: requests.length, drafts }, null, 2));
  else if (lines !== null) for (const line of lines) io.out(line);
  else if (drafts.length === 0) io.err("gw pack suggest: nothing was refused there that a pack could say.");
  else for (const { text } of drafts) io.out(text);
  return exits.done;
}

/** Whether the log could have a run of this name, for whoever has not opened it yet. */
export function requireNameOfRun(run: string): void {
  if (readId("run", run) === undefined) throw unknownRun();
}

function unknownRun(): Denied {
  return new Denied("not_found", "The log has no run of this name: gw activity --json.");
}

function readRefused(log: string, readingKey: KeyObject, run: string): readonly RefusedRequest[] {
  const digests: string[] = [];
  let known = false;
  readAll(log, readingKey, (item) => {
    if (item.kind !== "record" || !("run_id" in item.event) || item.event.run_id !== run) return;
    known = true;
    if (item.event.event_type === "contained_request" && item.event.kept_digest !== undefined)
      digests.push(item.event.kept_digest);
  });
  if (!known) throw unknownRun();
  const contents = gatherContents((digest) => digests.includes(digest));
  readAll(log, readingKey, (item) => {
    if (item.kind === "record" && item.event.event_type === "content_kept") contents.add(item.event);
  });
  return digests.flatMap((digest) => requestOf(contents.find(digest)) ?? []);
}

/** As keep-plain.ts wrote it. Of one that brought a credential of its own there is no target, and nothing to draft. */
function requestOf(text: string | null): RefusedRequest | null {
  const kept: unknown = text === null ? null : JSON.parse(text);
  if (!isJsonObject(kept as never)) return null;
  const { origin, method, target, accept, content_type, body, body_bytes } = kept as Readonly<Record<string, unknown>>;
  if (typeof target !== "string") return null;
  const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);
  return {
    ...{ origin: String(origin), method: String(method), target },
    ...{ accept: textOf(accept), contentType: textOf(content_type), body: textOf(body) },
    bodyBytes: Number(body_bytes),
  };
}
