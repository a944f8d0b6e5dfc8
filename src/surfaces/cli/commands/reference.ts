import { dirname, join } from "node:path";
import type { Command } from "commander";
import { Denied } from "../../../kernel/failure.ts";
import { makeFolder } from "../../../vault/files/make-folder.ts";
import { answering } from "../answer.ts";
import type { Exit } from "../io.ts";
import type { BaseOptions } from "../options.ts";
import { whole } from "./budget-options.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

interface Options extends BaseOptions {
  readonly port: number;
  readonly file?: string;
  readonly faults: boolean;
  readonly webhookUrl?: string;
  readonly tokenFile?: string;
}

export function addReferenceCommand(program: Command, deps: CliDeps): void {
  addCommand(
    program,
    "reference",
    "run the reference provider on loopback, to call, to read and to copy from",
    "gw reference --port 7411 --token-file token.txt",
  )
    .option("--port <N>", "the loopback port; 0 takes a free one", whole(0, 65_535), 0)
    .option("--file <FILE>", "its SQLite file; made with sample data when it is not there")
    .option("--faults", "add the control route that makes requests go wrong", false)
    .option("--webhook-url <URL>", "where it sends signed webhooks")
    .option("--signer <FILE>", "take requests that robot signs (RFC 9421): its public Ed25519 key, in PEM")
    .option("--token-file <FILE>", "write the token to a new private file instead of printing it")
    .action(async (_options, command: Command) => {
      const options = optionsOf<Options>(command);
      const { runReference } = await import("../../../../packages/reference/src/command.ts");
      const file = options.file ?? join(options.home, "provider", "reference.db");
      const run = async (): Promise<Exit> => {
        if (options.file === undefined) makeOwn(dirname(file));
        return runReference({ ...options, file }, deps.io, await deps.reference());
      };
      deps.finish(await answering(deps.io, run));
    });
}

/** The home of a gateway for all users is closed to the person who tries this. */
function makeOwn(folder: string): void {
  try {
    makeFolder(folder);
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : "it cannot be made";
    throw new Denied(
      "file_unreadable",
      `${folder} is not yours to write (${why}). Name a file of your own: --file FILE`,
    );
  }
}
