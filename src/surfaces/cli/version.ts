import type { Command } from "commander";
import { Denied } from "../../kernel/failure.ts";
import { Unreachable } from "../client/connection.ts";
import { readVersion } from "../client/read-status.ts";
import { answering } from "./answer.ts";
import { addCommand, type CliDeps, type Formats, optionsOf } from "./commands/deps.ts";
import { exits } from "./io.ts";
import { type BaseOptions, operatorDoor } from "./options.ts";

/** `gw version`: which program, which Node, which format the home has, and whether the running gateway is the same. */
export function addVersionCommand(program: Command, deps: CliDeps): void {
  addCommand(
    program,
    "version",
    "the program's version, the home's format, and what is running",
    "gw version --json",
  ).action(async (_options, command: Command) =>
    deps.finish(await answering(deps.io, () => showVersion(optionsOf(command), deps))),
  );
}

async function showVersion(options: BaseOptions, deps: CliDeps) {
  const { known, found } = await formatsOf(options.home, deps);
  const running = await runningVersion(options);
  const newer = found === null || (typeof found === "number" && found > known);
  const record = {
    version: deps.version,
    node: process.version,
    platform: `${process.platform}-${process.arch}`,
    state_format: known,
    home: options.home,
    home_state_format: typeof found === "number" ? found : null,
    home_is_newer: newer,
    running,
  };
  if (options.json) deps.io.out(JSON.stringify(record, null, 2));
  else for (const line of linesOf(record, found)) deps.io.out(line);
  return newer ? exits.denied : exits.done;
}

function linesOf(
  record: { readonly [name: string]: unknown; readonly running: string | null },
  found: Formats["found"] | "closed",
): readonly string[] {
  const { version, node, platform, state_format: known, home, running } = record;
  const state =
    found === "closed"
      ? "closed to this user"
      : found === undefined
        ? "nothing written yet"
        : found === "unmarked"
          ? "as version 0.1 left it; the next unlock migrates it, after a copy"
          : found === null
            ? "a format that this program does not know: docs/upgrading.md"
            : `state ${found}${record["home_is_newer"] === true ? ", NEWER than this program: docs/upgrading.md" : ""}`;
  return [
    `gw ${String(version)} on Node ${String(node)}, ${String(platform)}; reads and writes state ${String(known)}`,
    `  home     ${String(home)}: ${state}`,
    `  running  ${running === null ? "no gateway" : running === version ? running : `${running}; restart it to run ${String(version)}`}`,
  ];
}

/** A home of another user is closed to us, which is as it should be. */
async function formatsOf(
  home: string,
  deps: CliDeps,
): Promise<{ readonly known: number; readonly found: Formats["found"] | "closed" }> {
  try {
    return await deps.formats(home);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EACCES")) throw error;
    return { known: (await deps.formats(null)).known, found: "closed" };
  }
}

async function runningVersion(options: BaseOptions): Promise<string | null> {
  try {
    return await readVersion(operatorDoor(options));
  } catch (error) {
    if (error instanceof Unreachable || error instanceof Denied) return null;
    throw error;
  }
}
