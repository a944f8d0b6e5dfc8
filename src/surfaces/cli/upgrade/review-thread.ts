import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Pack } from "../../../conventions/action/pack.ts";
import { readPack } from "../../../conventions/action/read.ts";
import { scopesOfPack } from "../../../conventions/upgrade/compare/pack-scopes.ts";
import { type Review, reviewUpgrade } from "../../../conventions/upgrade/compare/review.ts";
import { readDocument } from "../../../conventions/upgrade/document/read-document.ts";
import { type AuthorityMap, buildAuthorityMap } from "../../../conventions/upgrade/map/authority-map.ts";
import { buildApi } from "../../../conventions/upgrade/model/build-api.ts";
import { type Coverage, coverPacks } from "../../../conventions/upgrade/pack/cover.ts";
import { draftCorpus, writeCorpus } from "../../../conventions/upgrade/probe/draft-corpus.ts";
import type { Code } from "../../../kernel/codes.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied, Fault, type Finding } from "../../../kernel/failure.ts";

/** Files as bytes: the thread opens nothing. */
export interface ReviewInput {
  readonly before: NamedBytes;
  readonly after: NamedBytes;
  readonly pack: NamedBytes | null;
  /** What the pack was when it was trusted; null where no pack changes, or where that is lost. */
  readonly packBefore?: NamedBytes | null;
  /** Also draft a corpus. */
  readonly corpus: boolean;
}

export interface NamedBytes {
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface ReviewOutput {
  readonly review: Review;
  readonly map: AuthorityMap;
  readonly corpus: string | null;
  /** What the documents say about the pack's actions; null without a pack. */
  readonly coverage: Coverage | null;
}

export interface ThreadLimits {
  readonly ms: number;
  readonly heapMb: number;
}

type Answer =
  | { readonly kind: "done"; readonly output: ReviewOutput }
  | { readonly kind: "denied"; readonly code: Code; readonly message: string; readonly errors: readonly Finding[] };

const KIND = "gw-upgrade-review";

/** A provider's document is hostile input of many megabytes: it is read in a thread that can be stopped and has its own heap. */
export function reviewInThread(
  input: ReviewInput,
  limits: ThreadLimits = { ms: defaults.upgradeReviewMs, heapMb: defaults.upgradeReviewHeapMb },
): Promise<ReviewOutput> {
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { kind: KIND, input },
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: limits.heapMb },
  });
  return new Promise<ReviewOutput>((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(
        new Denied("document_too_large", `The review took longer than ${limits.ms / 1_000} seconds and was stopped.`),
      );
      void worker.terminate();
    }, limits.ms);
    worker.once("message", (answer: Answer) => {
      if (answer.kind === "done") resolve(answer.output);
      else reject(new Denied(answer.code, answer.message, { errors: answer.errors }));
    });
    worker.once("error", (error: Error & { readonly code?: string }) => {
      const full = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      reject(
        full
          ? new Denied("document_too_large", `The review needed more than ${limits.heapMb} MB and was stopped.`)
          : error,
      );
    });
    worker.once("exit", () => {
      clearTimeout(timer);
      reject(new Fault("the review thread ended without an answer"));
    });
  });
}

/** The work itself, on this thread. */
export function reviewFiles(input: ReviewInput): ReviewOutput {
  const pack = input.pack === null ? null : soundPack(input.pack);
  const packBefore = input.packBefore === undefined || input.packBefore === null ? null : soundPack(input.packBefore);
  const scopes = pack === null ? [] : scopesOfPack(pack);
  const before = buildApi(readDocument(input.before.name, input.before.bytes));
  const after = buildApi(readDocument(input.after.name, input.after.bytes));
  const review = reviewUpgrade(before, after, scopes);
  const corpus = input.corpus ? writeCorpus(draftCorpus(before, after, review, scopes)) : null;
  const coverage = pack === null ? null : coverPacks(packBefore, pack, before, after);
  return { review, map: buildAuthorityMap(after, scopes), corpus, coverage };
}

function soundPack(file: NamedBytes): Pack {
  const { pack, findings } = readPack(file.bytes, file.name);
  if (pack !== null) return pack;
  const errors = findings.filter(({ severity }) => severity === "error");
  const first = errors[0];
  throw new Denied(first?.code ?? "pack_malformed", `${file.name} is not a usable pack: gw pack lint says more.`, {
    errors: errors.map(({ code, path, line, column, message }) => ({
      code,
      path,
      message: `${file.name}:${line}:${column}: ${message}`,
    })),
  });
}

function answer(input: ReviewInput): Answer {
  try {
    return { kind: "done", output: reviewFiles(input) };
  } catch (error) {
    // Chains of references can be longer than any stack; nobody writes such a document by accident.
    if (error instanceof RangeError) {
      return {
        kind: "denied",
        code: "document_too_large",
        message: "The schemas refer to each other too deeply.",
        errors: [],
      };
    }
    if (!(error instanceof Denied)) throw error;
    return { kind: "denied", code: error.code, message: error.message, errors: error.errors };
  }
}

if (!isMainThread && workerData?.kind === KIND) parentPort?.postMessage(answer(workerData.input as ReviewInput));
