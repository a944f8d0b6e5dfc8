import { closeSync, openSync, writeSync } from "node:fs";
import { type CliIo, type Exit, exits } from "./io.ts";

/** `gw reference`: the reference provider in the foreground, with a token to try it with. */
export interface ReferenceCliOptions {
  readonly port: number;
  /** The SQLite file; made with sample data when it is not there. */
  readonly file: string;
  /** Adds the control route that makes requests go wrong. */
  readonly faults: boolean;
  readonly webhookUrl?: string;
  /** Writes the token to a new private file instead of printing it. */
  readonly tokenFile?: string;
  readonly json: boolean;
}

/** What the program gives the command: the provider's start function, and a promise that a signal resolves. */
export interface ReferenceCliPorts {
  start(options: Pick<ReferenceCliOptions, "port" | "file" | "faults" | "webhookUrl">): Promise<RunningReference>;
  readonly scopes: readonly string[];
  readonly stopped: Promise<void>;
}

export interface RunningReference {
  readonly origin: string;
  readonly webhookSecret: string;
  issueToken(request: {
    readonly actor: string;
    readonly tenant: string;
    readonly scopes: readonly string[];
  }): Promise<string>;
  close(): Promise<void>;
}

export async function runReference(options: ReferenceCliOptions, io: CliIo, ports: ReferenceCliPorts): Promise<Exit> {
  let provider: RunningReference;
  try {
    provider = await ports.start(options);
  } catch (error) {
    if (!isPortTrouble(error)) throw error;
    io.err(`Port ${options.port} on 127.0.0.1 cannot be listened on (${error.code}). Choose another with --port.`);
    return exits.denied;
  }
  const { origin, webhookSecret } = provider;
  const scopes = options.faults ? [...ports.scopes, "control"] : ports.scopes;
  const token = await provider.issueToken({ actor: "robot", tenant: "acme", scopes });
  if (options.tokenFile !== undefined) writePrivate(options.tokenFile, token);
  const shown = options.tokenFile === undefined ? token : null;
  if (options.json) {
    io.out(
      JSON.stringify({ origin, token: shown, token_file: options.tokenFile ?? null, webhook_secret: webhookSecret }),
    );
  } else {
    io.out(`The reference provider answers at ${origin}; its document is at ${origin}/openapi.json`);
    io.out(
      shown === null ? `Its token for robot of acme is in ${options.tokenFile}` : `Token for robot of acme: ${shown}`,
    );
    if (options.faults) io.out(`Faults on request: POST ${origin}/control/faults`);
  }
  await ports.stopped;
  await provider.close();
  return exits.done;
}

/** A new file that only this user may read; one that is there already is not overwritten. */
function writePrivate(path: string, text: string): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeSync(file, `${text}\n`);
  } finally {
    closeSync(file);
  }
}

function isPortTrouble(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && "code" in error && ["EADDRINUSE", "EACCES"].includes(String(error.code));
}
