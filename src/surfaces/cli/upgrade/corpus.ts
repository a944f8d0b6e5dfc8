import { showText } from "../../../kernel/display.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { assembleReview } from "./assemble.ts";
import { writeWhole } from "./files.ts";

export interface CorpusOptions {
  readonly before: string;
  readonly after: string;
  readonly pack?: string;
  /** Where to write; standard output without it. */
  readonly out?: string;
}

/** `gw upgrade corpus OLD NEW`: a first corpus for the probe, with every value that only a person knows marked. */
export function runUpgradeCorpus(options: CorpusOptions, io: CliIo): Promise<Exit> {
  return answering(io, async () => {
    const { corpus } = await assembleReview(options, [], true);
    if (options.out === undefined) io.out((corpus ?? "").trimEnd());
    else {
      await writeWhole(options.out, corpus ?? "");
      io.out(`${showText(options.out)} is a draft: replace every REPLACE value, and look at each expectation.`);
    }
    return exits.done;
  });
}
