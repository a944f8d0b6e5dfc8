import type { Random } from "../../../src/kernel/clock.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { type CliIo, type Exit, exits } from "../../../src/surfaces/cli/io.ts";
import { readGivenFile } from "../../../src/surfaces/cli/read-given-file.ts";
import { createClient } from "./client.ts";
import { readProfile, referenceProfile } from "./profile.ts";
import { reportLines, summaryLine } from "./report.ts";
import { runChecks } from "./run.ts";

/** `gw conformance URL`: does this provider follow the conventions? It acts on the provider: use a test account. */
export interface ConformanceOptions {
  readonly url: string;
  /** A file that holds a bearer token. */
  readonly tokenFile?: string;
  /** Where the provider has what the conventions speak of; absent: where the reference provider has it. */
  readonly profile?: string;
  /** Names of checks, or of their groups. */
  readonly only?: readonly string[];
  readonly json: boolean;
}

export async function runConformance(
  options: ConformanceOptions,
  io: Pick<CliIo, "out" | "err">,
  random: Random,
): Promise<Exit> {
  const origin = readOrigin(options.url);
  if (origin === undefined) {
    io.err(
      "Give the provider's origin, for example http://127.0.0.1:7411. A path, query or user name is not part of it.",
    );
    return exits.usage;
  }
  const token = options.tokenFile === undefined ? null : readGiven(options.tokenFile).toString("utf8").trim();
  const profile = options.profile === undefined ? referenceProfile : readProfile(readGiven(options.profile));
  const silent = await silenceOf(origin);
  if (silent !== null) {
    io.err(
      `provider_not_answered: Nothing answers at ${origin} (${silent}). Start the provider, or look at the address.`,
    );
    return exits.unreachable;
  }
  const only = options.only === undefined ? {} : { only: options.only };
  const results = await runChecks({ origin, profile, token, random, ...only }, (result) => {
    if (options.json) io.out(JSON.stringify(result));
    else for (const line of reportLines(result)) io.out(line);
  });
  if (results.length === 0) {
    io.err("No check has such a name.");
    return exits.usage;
  }
  if (!options.json) io.out(summaryLine(results));
  return results.some(({ verdict }) => verdict === "failed") ? exits.denied : exits.done;
}

/** Nothing is to be said of a provider that nobody reaches, and not once a check. */
async function silenceOf(origin: string): Promise<string | null> {
  try {
    await createClient(origin).send({ method: "GET", target: "/" }, null);
    return null;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return UNREACHED.has(code) ? code : null;
  }
}

const UNREACHED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

function readGiven(path: string): Buffer {
  return readGivenFile(path, defaults.conformanceReplyBytes, "file_unreadable");
}

function readOrigin(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const plain = url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  return plain && ["http:", "https:"].includes(url.protocol) ? url.origin : undefined;
}
