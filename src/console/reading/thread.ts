import type { KeyObject } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { Code } from "../../kernel/codes.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { Asks, Question, ReadingStart, Reply } from "./asks.ts";
import type { LogPlace } from "./journal.ts";

/** The logs, opened in a thread of its own: a long log is read while cards are decided. */
export interface Reading {
  ask<Name extends keyof Asks>(name: Name, of: Asks[Name]["of"]): Promise<Asks[Name]["answer"]>;
  close(): void;
}

interface Waiting {
  resolve(answer: never): void;
  reject(error: Error): void;
}

/** `find` brings the logs up to date and says which there are. */
export function startReading(find: () => Promise<readonly LogPlace[]>, readingKey: KeyObject): Reading {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | null = null;
  let asked = 0;

  /** Begun with the first question, and again after it failed: what it knew can be read anew. */
  function thread(): Worker {
    if (worker !== null) return worker;
    // The package holds compiled files: the worker has the extension that this file has.
    const file = import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js";
    const start: ReadingStart = { readingKey };
    const begun = new Worker(new URL(file, import.meta.url), { workerData: start, env: {} });
    begun.on("message", take);
    begun.once("error", () => undefined);
    begun.once("exit", () => {
      worker = null;
      for (const { reject } of waiting.values()) reject(new Fault("the thread that reads the log ended"));
      waiting.clear();
    });
    begun.unref();
    worker = begun;
    return begun;
  }

  function take(reply: Reply): void {
    const one = waiting.get(reply.number);
    waiting.delete(reply.number);
    if ("answer" in reply) one?.resolve(reply.answer as never);
    else if ("denied" in reply) one?.reject(new Denied(reply.denied.code as Code, reply.denied.message));
    else one?.reject(new Fault(reply.fault));
  }

  return {
    async ask(name, of) {
      const logs = await find();
      return new Promise((resolve, reject) => {
        const question: Question = { number: ++asked, name, of, logs };
        waiting.set(question.number, { resolve, reject });
        thread().postMessage(question);
      });
    },
    close: () => void worker?.terminate(),
  };
}
