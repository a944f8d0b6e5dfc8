import { mkdirSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { draftLearned } from "../../../conventions/action/learn/draft-learned.ts";
import type { RefusedRequest } from "../../../conventions/action/learn/read-samples.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { CarriedAnswer, CarriedRequest } from "../../client/agent.ts";
import { writeDrafts } from "./write-drafts.ts";

/** What a contained run was refused, kept until it ends; then a draft for a person, and nothing else. */
export interface Notebook {
  note(request: CarriedRequest, answer: CarriedAnswer): void;
  /** Once nothing of the box is left. What the box did to the folder is said, and never thrown: the run has its own end. */
  write(): Promise<readonly string[]>;
}

/** A pack could say these; whatever else is refused is refused for another reason. */
const LEARNABLE = new Set(["origin_not_in_packs", "path_not_in_packs", "request_not_in_packs"]);

/** The folder is made before the command starts: what the command puts in its place later is not written into. */
export function openNotebook(asked: string): Notebook {
  const folder = resolve(asked);
  mkdirSync(folder, { recursive: true });
  const real = realpathSync(folder);
  const requests: RefusedRequest[] = [];
  let bytes = 0;
  return {
    note(request, answer) {
      const code = answer.headers.find(([name]) => name === "x-gw-code")?.[1];
      if (code === undefined || !LEARNABLE.has(code)) return;
      const refused = refusedOf(request);
      const { accept, contentType } = refused;
      for (const part of [request.target, request.body, accept, contentType]) bytes += part?.length ?? 0;
      if (bytes <= defaults.learnedBytes) requests.push(refused);
    },
    async write() {
      try {
        if (realIn(folder) !== real) throw new Denied("file_unreadable", `${folder} is no longer the same folder.`);
        return await writeDrafts(draftLearned(requests), real);
      } catch (error) {
        if (!(error instanceof Denied)) throw error;
        return [`gw run: not all drafts were written: ${showText(error.message)}`];
      }
    },
  };
}

/** Null where it is not there any more. */
function realIn(folder: string): string | null {
  try {
    return realpathSync(folder);
  } catch {
    return null;
  }
}

function refusedOf({ origin, method, target, headers, body }: CarriedRequest): RefusedRequest {
  const field = (wanted: string): string | null => headers.find(([name]) => name === wanted)?.[1] ?? null;
  const bytes = body === undefined ? null : Buffer.from(body, "base64");
  const text = bytes?.toString("utf8") ?? null;
  const readable = bytes !== null && text !== null && Buffer.from(text, "utf8").equals(bytes);
  return {
    ...{ origin, method, target, accept: field("accept"), contentType: field("content-type") },
    body: readable ? text : null,
    bodyBytes: bytes?.byteLength ?? 0,
  };
}
