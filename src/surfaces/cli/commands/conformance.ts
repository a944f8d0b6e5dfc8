import type { Command } from "commander";
import type { BaseOptions } from "../options.ts";
import { addCommand, type CliDeps, optionsOf } from "./deps.ts";

interface Options extends BaseOptions {
  readonly tokenFile?: string;
  readonly profile?: string;
  readonly only?: readonly string[];
}

export function addConformanceCommand(program: Command, { io, random, finish }: CliDeps): void {
  const many = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  addCommand(
    program,
    "conformance <URL>",
    "does this provider follow the conventions? exit 1 on a failed must",
    "gw conformance http://127.0.0.1:7411 --token-file token.txt",
  )
    .option("--token-file <FILE>", "a private file with the bearer token to use")
    .option("--profile <FILE>", "which routes play which part; the reference provider's without it")
    .option("--only <CHECK>", "run this check alone (repeatable)", many)
    .action(async (url: string, _options, command: Command) => {
      const { runConformance } = await import("../../../../packages/conformance/src/command.ts");
      finish(await runConformance({ ...optionsOf<Options>(command), url }, io, random));
    });
}
