import { verify } from "node:crypto";
import { canonicalJson, type Digest, digestJson } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { OperatorKey } from "../../approval/decision.ts";
import type { Reviewer } from "../decision/statement.ts";
import { routeOf } from "../model/read-operation.ts";
import type { Corpus } from "./corpus-schema.ts";
import type { ProbeVersion } from "./exchange.ts";
import type { Observed } from "./run.ts";

/**
 * What an operator's own process saw both versions do, signed there and then: nothing sends a probe twice to see whether
 * a saved report was edited, so that the report carries its own proof.
 */
export type ProbeStatement = {
  readonly format: "gw.upgrade-probe/v1";
  readonly api: string;
  readonly corpus: Digest;
  readonly before: ProbedVersion;
  readonly after: ProbedVersion;
  /** The vault label behind the credential that must be let in; null where the corpus names none. */
  readonly credential: string | null;
  readonly observed: readonly ObservedCase[];
  /** Over the ids of all differences that were found. */
  readonly differences: Digest;
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
  readonly ids: readonly string[];
}

export function attestProbe(runs: ProbeRuns, at: string, reviewer: Reviewer): SignedProbe {
  const { corpus, before, after } = runs;
  const base = new URL(runs.new.base).pathname.replace(/\/$/, "");
  const valid = Object.values(corpus.credentials).find((one) => one.case === "valid");
  const statement: ProbeStatement = {
    format: "gw.upgrade-probe/v1",
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
    differences: digestIds(runs.ids),
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

/** The statement of a saved report, when an enrolled operator signed it and the differences beside it are those it is about. */
export function readProbe(
  file: string,
  report: JsonObject,
  ids: readonly string[],
  keys: readonly OperatorKey[],
): SignedProbe {
  const fail = (why: string): never => {
    throw new Denied("review_file_invalid", `${file}: ${why}. Run gw upgrade probe again, and save what it prints.`);
  };
  const held = report["probe"];
  if (!isJsonObject(held) || !isJsonObject(held["statement"]) || typeof held["signature"] !== "string")
    return fail("it is not the signed report of a probe");
  const statement = held["statement"] as JsonValue as ProbeStatement;
  if (statement.format !== "gw.upgrade-probe/v1") fail("its probe has another format");
  const key = keys.find(({ name, keyId }) => name === statement.operator && keyId === statement.operator_key_id);
  if (key === undefined || !verify(null, bytesOf(statement), key.publicKey, Buffer.from(held["signature"], "base64")))
    fail("no enrolled operator signed what it says");
  if (statement.differences !== digestIds(ids)) fail("its differences are not those that were observed");
  return { statement, signature: held["signature"] };
}

function digestIds(ids: readonly string[]): Digest {
  return digestJson([...ids].sort());
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
