import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { isJsonObject } from "../../../kernel/json.ts";
import { asDifference, type Difference, type Surface } from "../compare/difference.ts";
import { type Corpus, type CorpusProbe, type CorpusRequest, refusedCases } from "./corpus-schema.ts";

export type Purpose =
  | "allowed"
  | "denied"
  | "forbidden"
  | "optional"
  | "credential"
  | "new_route"
  | "step"
  | "nearby"
  | "refresh";

export type Expectation = { readonly kind: "denied" } | { readonly kind: "status"; readonly status: readonly number[] };

/** One request to send to both versions, still with `$names` where only the run knows the value. */
export interface ProbeCase {
  readonly id: string;
  readonly purpose: Purpose;
  /** Where it counts when what must be denied is allowed. */
  readonly surface: Surface;
  readonly request: CorpusRequest;
  readonly credential: string;
  readonly expect: Expectation;
  readonly sideEffect: boolean;
  readonly pages: CorpusProbe["pages"] | null;
  readonly take: Readonly<Record<string, string>>;
  /** Steps of one trace share values and run in order. */
  readonly trace: string | null;
  readonly grant: { readonly scopes: readonly string[]; readonly audience: readonly string[] } | null;
}

export interface ExpandLimits {
  readonly probes: number;
  readonly sideEffects: number;
}

export const expandLimits: ExpandLimits = {
  probes: defaults.upgradeProbes,
  sideEffects: defaults.upgradeProbeSideEffects,
};

/** Everything the specification asks for of one corpus, as a flat list in the order of sending. */
export function expandCorpus(corpus: Corpus, limits: ExpandLimits = expandLimits): readonly ProbeCase[] {
  const valid = Object.keys(corpus.credentials).find((label) => corpus.credentials[label]?.case === "valid") ?? "";
  const bad = Object.entries(corpus.credentials).filter(([, credential]) => credential.case !== "valid");
  const cases: ProbeCase[] = [];
  for (const probe of corpus.probes) {
    const main = toCase(
      probe,
      valid,
      null,
      probe.new_route === true ? "new_route" : "denied" in probe.expect ? "denied" : "allowed",
    );
    cases.push(main, ...optionalCases(probe, main), ...forbiddenCases(probe, main));
    if (probe.cases === true) {
      for (const [label, credential] of bad) {
        cases.push({
          ...main,
          id: `${main.id}~credential.${credential.case}.${label}`,
          purpose: "credential",
          surface: "credential_acceptance",
          credential: label,
          expect: { kind: "denied" },
          pages: null,
        });
      }
    }
  }
  for (const trace of corpus.traces ?? []) {
    cases.push(...trace.steps.map((step) => toCase(step, valid, trace.id, "step")));
    cases.push(...(trace.nearby ?? []).map((step) => toCase(step, valid, trace.id, "nearby")));
  }
  for (const refresh of corpus.refresh ?? []) {
    cases.push({
      id: refresh.id,
      purpose: "refresh",
      surface: "credential_acceptance",
      request: refresh.request,
      credential: refresh.credential,
      expect: { kind: "status", status: [200] },
      sideEffect: false,
      pages: null,
      take: {},
      trace: null,
      grant: refresh.grant,
    });
  }
  requireRoomForToken(corpus, cases);
  return bounded(cases, limits);
}

/** Said of the corpus, before a person is asked and anything is sent. */
function requireRoomForToken({ credentials }: Corpus, cases: readonly ProbeCase[]): void {
  for (const { id, credential, request } of cases) {
    if (credentials[credential]?.present !== "form" || !BODILESS.has(request.method)) continue;
    throw new Denied(
      "corpus_invalid",
      `${id} would present ${credential} in a form body, and a ${request.method} has none: present it otherwise, or have its cases sent by a probe with a body.`,
    );
  }
}

const BODILESS: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** What the corpus could not ask is a difference like any other: somebody decides to go on without it. */
export function describeMissingCases({ api, without = {} }: Corpus): readonly Difference[] {
  return refusedCases.flatMap((name) => {
    const why = without[name];
    if (why === undefined) return [];
    return asDifference({
      ...{
        surface: "credential_acceptance",
        kind: "case_not_probed",
        change: "shifts",
        subject: `API ${api}`,
        at: name,
      },
      ...{ says: `Nobody saw whether a credential of case ${name} is refused.`, before: null, after: why },
    });
  });
}

function bounded(cases: readonly ProbeCase[], limits: ExpandLimits): readonly ProbeCase[] {
  const effects = cases.filter(({ sideEffect }) => sideEffect).length;
  if (cases.length > limits.probes)
    throw new Denied("corpus_invalid", `The corpus becomes ${cases.length} requests; ${limits.probes} are the limit.`);
  if (effects > limits.sideEffects)
    throw new Denied(
      "corpus_invalid",
      `The corpus becomes ${effects} requests with side effects; ${limits.sideEffects} are the limit.`,
    );
  const ids = new Set(cases.map(({ id }) => id));
  if (ids.size !== cases.length)
    throw new Denied("corpus_invalid", "Two requests of the corpus come out under one id.");
  return cases;
}

function toCase(probe: CorpusProbe, valid: string, trace: string | null, purpose: Purpose): ProbeCase {
  const sideEffect = probe.side_effect === true;
  return {
    id: probe.id,
    purpose,
    surface: sideEffect ? "action_reach" : "resource_reach",
    request: probe.request,
    credential: probe.credential ?? valid,
    expect: "denied" in probe.expect ? { kind: "denied" } : { kind: "status", status: probe.expect.status },
    sideEffect,
    pages: probe.pages ?? null,
    take: probe.take ?? {},
    trace,
    grant: null,
  };
}

/** Absent, empty where permitted, and explicit: three ways to say something, and a default may sit behind each. */
function optionalCases(probe: CorpusProbe, main: ProbeCase): readonly ProbeCase[] {
  return (probe.optional ?? []).flatMap((parameter) => {
    const variant = (way: string, value: JsonValue | undefined): ProbeCase => ({
      ...main,
      id: `${main.id}~${parameter.in}.${parameter.name}.${way}`,
      purpose: "optional",
      request: setParameter(main.request, parameter.in, parameter.name, value),
      pages: null,
    });
    return [
      variant("absent", undefined),
      ...(parameter.empty === true ? [variant("empty", "")] : []),
      ...parameter.explicit.map((value, index) => variant(`explicit${index + 1}`, value)),
    ];
  });
}

function setParameter(
  request: CorpusRequest,
  place: "query" | "header" | "body",
  name: string,
  value: JsonValue | undefined,
): CorpusRequest {
  const member = place === "header" ? "headers" : place;
  const held = request[member];
  const { [name]: _gone, ...rest } = isJsonObject(held) ? held : {};
  return { ...request, [member]: value === undefined ? rest : { ...rest, [name]: value } };
}

/** The same request on what must stay out of reach. */
function forbiddenCases(probe: CorpusProbe, main: ProbeCase): readonly ProbeCase[] {
  return Object.entries(probe.forbidden ?? {}).flatMap(([parameter, values]) =>
    values.map((value) => ({
      ...main,
      id: `${main.id}~${parameter}.${value.replace(/^\$/, "")}`,
      purpose: "forbidden" as const,
      request: { ...main.request, with: { ...main.request.with, [parameter]: value } },
      expect: { kind: "denied" as const },
      pages: null,
    })),
  );
}
