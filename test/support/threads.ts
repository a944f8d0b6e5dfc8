import { syncBuiltinESMExports } from "node:module";
import { pathToFileURL } from "node:url";
import threads from "node:worker_threads";
import { bundleProgram } from "./bundle.ts";

/** Threads that are started from this source have all of it as one file: each would load a hundred sources one by one, which takes longer than most of its work. */
export async function startThreadsFromOneFile(source: string): Promise<void> {
  const bundled = pathToFileURL(await bundleProgram(source));
  const own = pathToFileURL(source).href;
  const { Worker } = threads;
  threads.Worker = class extends Worker {
    constructor(from: string | URL, options?: threads.WorkerOptions) {
      super(String(from) === own ? bundled : from, options);
    }
  };
  syncBuiltinESMExports();
}
