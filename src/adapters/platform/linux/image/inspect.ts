import { type BigIntStats, statSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { defaults } from "../../../../kernel/defaults.ts";
import { Denied } from "../../../../kernel/failure.ts";
import { descriptorsExhausted } from "../../descriptors.ts";
import { type FileIdentity, identityIn } from "../proc.ts";
import type { ImageDigests } from "./digest.ts";
import type { ImageAnswer, ImageQuestion } from "./inspect-worker.ts";

/** What can be said of image files without the process: all of it is read off the event loop. */
export interface ImageInspector {
  /** `fd` holds the image; `path` and `mappings` are the names that the kernel gives. */
  inspect(image: ImageSubject): Promise<ImageAnswer>;
}

export type ImageSubject = Pick<ImageQuestion, "fd" | "directory" | "path" | "mappings">;
export type ImageSettings = Pick<ImageQuestion, "sigstore" | "imaKeys">;

const REMEMBERED = 256;
const AT_ONCE = 4;
/** To start a thread takes longer than most answers, and callers come in groups: one that has answered waits so long for the next. */
const LINGER_MS = 5_000;
/** Threads that are in the middle of a file which does not answer cannot be ended. While there are so many, no new image is looked at. */
const HELD_MOST = 8;

/**
 * A few threads at a time, none of which stays: a new image is a rare event. The digest is made once per file identity; a file whose
 * times or size changed is another file. Of files that a program answers for nothing is kept: it says what times it likes.
 */
export function createImageInspector(
  settings: () => ImageSettings,
  bounds: { readonly withinMs: number } = { withinMs: defaults.callerImageMs },
): ImageInspector {
  const answers = new Map<string, Promise<ImageAnswer>>();
  const digests = new Map<string, ImageDigests>();
  let running = 0;
  const line: (() => void)[] = [];
  const ask = createAsking(bounds);
  /** A few at a time: somebody's large image does not keep everybody else waiting, and many do not take all memory. */
  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (running >= AT_ONCE) await new Promise<void>((resolve) => line.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = line.shift();
      if (next === undefined) running--;
      else next();
    }
  }
  return {
    inspect(image) {
      const identity = identityIn(image.fd);
      if (identity === null) throw new Denied("caller_unreadable", "the caller's image file cannot be looked at");
      if (identity.bytes > BigInt(defaults.callerImageBytes)) {
        const limit = `${defaults.callerImageBytes} bytes`;
        throw new Denied("caller_unreadable", `the caller's image is larger than ${limit}, too large to be looked at`);
      }
      const current = settings();
      const { fd: _fd, directory: _directory, ...named } = image;
      const question = JSON.stringify([identity.mount, identity.name, named, current, bundlesAsOf(current)]);
      const known = answers.get(question);
      if (known !== undefined) return known;
      const answer = inTurn(() => look(image, identity, current));
      // Numbers of file systems are given out again: without one of the mount's own, each look has to ask what this one is.
      if (identity.mount === null) return answer;
      remember(answers, question, answer);
      const forget = (): unknown => answers.delete(question);
      answer.then(({ kind }) => kind === "unproven" && forget(), forget);
      return answer;
    },
  };

  async function look(image: ImageSubject, { name }: FileIdentity, current: ImageSettings): Promise<ImageAnswer> {
    const found = await ask({ ...image, ...current, digests: digests.get(name) ?? null }).catch(refuse);
    if (found.kind === "unproven") return found;
    if (identityIn(image.fd)?.name !== name) {
      throw new Denied("caller_replaced", "the caller's image file changed while it was read");
    }
    remember(digests, name, found.digests);
    return found;
  }
}

/** The gateway's user may not read it, or its file system failed. */
function refuse(error: unknown): never {
  const ours = descriptorsExhausted(error);
  if (ours !== undefined) throw ours;
  if (!(error instanceof Error && "syscall" in error)) throw error;
  throw new Denied("caller_unreadable", `the caller's image file cannot be read (${error.message})`);
}

function remember<Value>(memory: Map<string, Value>, name: string, value: Value): void {
  memory.set(name, value);
  const oldest = memory.keys().next().value;
  if (memory.size > REMEMBERED && oldest !== undefined) memory.delete(oldest);
}

/** A bundle that is filed, replaced or taken away is a reason to ask again; so is another trusted root. */
function bundlesAsOf({ sigstore }: ImageSettings): readonly string[] {
  if (sigstore === null) return [];
  return [sigstore.bundles, sigstore.trustedRoot].map((path) => {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? "" : identityOf(stats);
  });
}

function identityOf(stats: BigIntStats): string {
  return [stats.dev, stats.ino, stats.mtimeNs, stats.ctimeNs, stats.size].join(":");
}

/** One question at a time to a thread; one that failed is not asked again, and one that is late is left behind. */
function createAsking(bounds: { readonly withinMs: number }): (question: ImageQuestion) => Promise<ImageAnswer> {
  const idle = new Map<Worker, NodeJS.Timeout>();
  const held = new Set<Worker>();
  function take(): Worker {
    for (const [worker, ending] of idle) {
      clearTimeout(ending);
      idle.delete(worker);
      worker.ref();
      return worker;
    }
    const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
    const worker = new Worker(new URL(`./inspect-worker.${extension}`, import.meta.url), { env: {} });
    // What befalls it while nobody asks is told to nobody.
    return worker.on("error", () => undefined).on("exit", () => idle.delete(worker));
  }
  function rest(worker: Worker): void {
    worker.unref();
    const end = (): void => void (idle.delete(worker) && worker.terminate());
    idle.set(worker, setTimeout(end, LINGER_MS).unref());
  }
  function leave(worker: Worker): void {
    held.add(worker);
    worker.once("exit", () => held.delete(worker)).unref();
    void worker.terminate();
  }
  return async (question) => {
    if (held.size >= HELD_MOST) throw unanswered(bounds.withinMs);
    const worker = take();
    const { promise, resolve, reject } = Promise.withResolvers<ImageAnswer>();
    const ended = (code: number): void => reject(new Error(`the image thread ended with ${code} before it answered`));
    worker.once("message", resolve).once("error", reject).once("exit", ended);
    worker.postMessage(question);
    const late = setTimeout(() => {
      leave(worker);
      reject(unanswered(bounds.withinMs));
    }, bounds.withinMs);
    const answer = await promise.finally(() => clearTimeout(late));
    worker.off("error", reject).off("exit", ended);
    rest(worker);
    return answer;
  };
}

function unanswered(withinMs: number): Denied {
  return new Denied(
    "caller_unreadable",
    `the caller's image was not read within ${withinMs / 1_000} s: its file system does not answer, or is too slow`,
  );
}
