import { verify } from "node:crypto";
import { canonicalJson, type Digest, digestJson } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { OperatorKey } from "../../approval/decision.ts";
import type { Reviewer } from "../decision/statement.ts";
import { routeOf } from "../model/read-operation.ts";
import type { Corpus } from "./corpus-schema.ts";
import { basePathOf, type ProbeVersion } from "./exchange.ts";
import type { Observed } from "./run.ts";

const FORMAT = "gw.upgrade-probe/v2";

/**
 * What an operator's own process saw both versions do, signed there and then: nothing sends a probe twice to see whether
 * a saved report was edited, so that the report carries its own proof. `format` keeps it apart from every other statement
 * that the same key signs.
 */
export type ProbeStatement = {
  readonly format: typeof FORMAT;
  readonly api: string;
  readonly corpus: Digest;
  readonly before: ProbedVersion;
  readonly after: ProbedVersion;
  /** The vault label behind the credential that must be let in; null where the corpus names none. */
  readonly credential: string | null;
  readonly observed: readonly ObservedCase[];
  /** Over all that the report says beside this statement: every word of a difference, and what is decided together. */
  readonly report: Digest;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly observed_at: string;
};

export type ProbedVersion = { readonly origin: string; readonly header: string | null };

/** Status null: no answer was seen. */
export type ObservedCase = {
  readonly case: string;
  /** Method and path as the new version has them, parameters erased. */
  readonly route: string;
  readonly before: number | null;
  readonly after: number | null;
};

export interface SignedProbe {
  readonly statement: ProbeStatement;
  readonly signature: string;
}

export interface ProbeRuns {
  readonly corpus: Corpus;
  readonly corpusDigest: Digest;
  readonly old: ProbeVersion;
  readonly new: ProbeVersion;
  readonly before: ReadonlyMap<string, Observed>;
  readonly after: ReadonlyMap<string, Observed>;
  /** The report for programs, without this statement. */
  readonly report: object;
}

export function attestProbe(runs: ProbeRuns, at: string, reviewer: Reviewer): SignedProbe {
  const { corpus, before, after } = runs;
  const base = basePathOf(runs.new);
  const valid = Object.values(corpus.credentials).find((one) => one.case === "valid");
  const statement: ProbeStatement = {
    format: FORMAT,
    api: corpus.api,
    corpus: runs.corpusDigest,
    before: versionOf(runs.old),
    after: versionOf(runs.new),
    credential: valid?.vault ?? null,
    observed: [...after].map(([id, { case: one, facts }]) => ({
      case: id,
      route: routeOf(one.request.method, base + one.request.path),
      before: before.get(id)?.facts.status ?? null,
      after: facts.status,
    })),
    report: digestReport(runs.report),
    operator: reviewer.operator,
    operator_key_id: reviewer.keyId,
    observed_at: at,
  };
  return { statement, signature: reviewer.sign(bytesOf(statement)).toString("base64") };
}

/** By which the log, the review and the trust name the same probe. */
export function probeDigest(probe: SignedProbe): Digest {
  return digestJson(probe as unknown as JsonObject);
}

/** The statement of a saved report, when an enrolled operator signed it and the report still says what it was about. */
export function readProbe(file: string, root: JsonObject, keys: readonly OperatorKey[]): SignedProbe {
  const fail = (why: string): never => {
    throw new Denied(
      "review_file_invalid",
      `${file}: ${why}. Probe again, and save what it prints: gw upgrade probe … --json > ${file}`,
    );
  };
  const { probe: held, ...report } = root;
  if (!isJsonObject(held) || !isJsonObject(held["statement"]) || typeof held["signature"] !== "string")
    throw new Denied(
      "review_file_invalid",
      `${file}: nobody signed this report, so that anybody may have changed it. Name what it is about in its place: the two documents (OLD NEW), a pack with --trust NAME, or the saved report of gw upgrade probe.`,
    );
  const statement = held["statement"] as JsonValue as ProbeStatement;
  if (statement.format !== FORMAT)
    fail(`its statement is no ${FORMAT}, which alone covers all that a report shows (an older gw signed less)`);
  const key = keys.find(({ name, keyId }) => name === statement.operator && keyId === statement.operator_key_id);
  if (key === undefined || !verify(null, bytesOf(statement), key.publicKey, Buffer.from(held["signature"], "base64")))
    fail("no enrolled operator signed what it says");
  if (statement.report !== digestReport(report)) fail("it was changed since it was signed");
  return { statement, signature: held["signature"] };
}

function digestReport(report: object): Digest {
  return digestJson(report as JsonObject);
}

function versionOf({ base, header }: ProbeVersion): ProbedVersion {
  return {
    origin: new URL(base).origin,
    header: header === null ? null : `${header.name.toLowerCase()}: ${header.value}`,
  };
}

function bytesOf(statement: ProbeStatement): Buffer {
  return Buffer.from(canonicalJson(statement as unknown as JsonObject), "utf8");
}
