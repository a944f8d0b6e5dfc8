import { writeSync } from "node:fs";
import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import type { Health } from "./health.ts";

/** What the launcher asked for on the command line. */
export interface Asked {
  readonly folder: string;
  readonly config: string | undefined;
  readonly keyFile: string | undefined;
}

export function readArguments([folder, ...rest]: readonly string[]): Asked | undefined {
  const given = new Map<string, string>();
  for (let at = 0; at < rest.length; at += 2) {
    const [name = "", value] = [rest[at], rest[at + 1]];
    if (!["--config", "--key-file"].includes(name) || value === undefined) return undefined;
    given.set(name, value);
  }
  return folder === undefined ? undefined : { folder, config: given.get("--config"), keyFile: given.get("--key-file") };
}

/** To the journal as a fact, and to the launcher, which says it as every command does. On a terminal that is enough. */
export function refuseStart(thrown: unknown, health: Health): never {
  const inUse = thrown instanceof Denied && thrown.code === "log_in_use";
  const error = inUse ? alreadyRunning() : (deniedByFiles(thrown) ?? thrown);
  const fault = !(error instanceof Denied);
  const code = fault ? "internal_fault" : error.code;
  const message = error instanceof Error ? error.message : String(error);
  const whole = fault && error instanceof Error ? (error.stack ?? message) : message;
  health.refused(code, whole);
  if (health.facts.plain && fault) console.error(error);
  writeSync(1, `refused ${JSON.stringify({ code, message })}\n`);
  process.exit(1);
}

function alreadyRunning(): Denied {
  return new Denied(
    "gateway_running",
    "A gateway of this home is at work already. See it with: gw status; stop it before you start another.",
  );
}
