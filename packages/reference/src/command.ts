import { createPublicKey } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";
import { Denied } from "../../../src/kernel/failure.ts";
import { type CliIo, type Exit, exits } from "../../../src/surfaces/cli/io.ts";
import { readGivenFile } from "../../../src/surfaces/cli/read-given-file.ts";

/** `gw reference`: the reference provider in the foreground, with a token to try it with. */
export interface ReferenceCliOptions {
  readonly port: number;
  /** The SQLite file; made with sample data when it is not there. */
  readonly file: string;
  /** Adds the control route that makes requests go wrong. */
  readonly faults: boolean;
  readonly webhookUrl?: string;
  /** A file with the public Ed25519 key of `robot`, in PEM, whose signed requests are taken. */
  readonly signer?: string;
  /** Writes the token to a new private file instead of printing it. */
  readonly tokenFile?: string;
  readonly json: boolean;
}

/** What the program gives the command: the provider's start function, and a promise that a signal resolves. */
export interface ReferenceCliPorts {
  start(
    options: Pick<ReferenceCliOptions, "port" | "file" | "faults" | "webhookUrl"> & { readonly signerKey?: string },
  ): Promise<RunningReference>;
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

export async function runReference(
  options: ReferenceCliOptions,
  io: Pick<CliIo, "out" | "err">,
  ports: ReferenceCliPorts,
): Promise<Exit> {
  let provider: RunningReference;
  try {
    const signer = options.signer === undefined ? {} : { signerKey: readPublicKey(options.signer) };
    provider = await ports.start({ ...options, ...signer });
  } catch (error) {
    if (!isPortTrouble(error)) throw error;
    io.err(
      `port_in_use: Port ${options.port} on 127.0.0.1 cannot be listened on (${error.code}). Choose another with --port.`,
    );
    return exits.denied;
  }
  const { origin, webhookSecret } = provider;
  const scopes = options.faults ? [...ports.scopes, "control"] : ports.scopes;
  const token = await provider.issueToken({ actor: "robot", tenant: "acme", scopes });
  try {
    if (options.tokenFile !== undefined) writePrivate(options.tokenFile, token);
  } catch (error) {
    await provider.close();
    throw error;
  }
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

function readPublicKey(path: string): string {
  const pem = readGivenFile(path, KEY_BYTES, "credential_invalid").toString("utf8");
  try {
    if (createPublicKey(pem).asymmetricKeyType === "ed25519") return pem;
  } catch {
    // Said below.
  }
  throw new Denied("credential_invalid", `${path} is no public Ed25519 key in PEM.`);
}

const KEY_BYTES = 4_096;

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
