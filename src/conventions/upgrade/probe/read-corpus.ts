import { memberOf, pointerNames } from "../../../../packages/request/src/pointer.ts";
import { compileSchema } from "../../../../packages/request/src/schema.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied, type Finding } from "../../../kernel/failure.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { placed, readDocument } from "../document/read-document.ts";
import type { Source } from "../document/source.ts";
import { type Corpus, type CorpusProbe, corpusSchema, refusedCases } from "./corpus-schema.ts";
import { referencesIn } from "./values.ts";

const LIMITS = { bytes: defaults.upgradeCorpusBytes, depth: 24, nodes: 100_000 };
const SAFE = new Set(["GET", "HEAD"]);
const SHOWN = 25;

const check = compileSchema(corpusSchema);

/** A corpus, read strictly: unknown members, unknown names and unmarked side effects are refused, each with its place. */
export function readCorpus(name: string, bytes: Uint8Array): Corpus {
  const source = readDocument(name, bytes, LIMITS);
  const findings = [...check(source.root)];
  if (findings.length === 0) findings.push(...checkMeaning(source.root as Corpus));
  const first = findings[0];
  if (first === undefined) return source.root as Corpus;
  const errors = findings.slice(0, SHOWN).map((finding) => withPlace(source, finding));
  throw new Denied("corpus_invalid", errors[0]?.message ?? first.message, { errors });
}

function withPlace(source: Source, finding: Finding): Finding {
  let node: JsonValue | undefined = source.root;
  let place = typeof node === "object" && node !== null ? source.positionOf(node) : undefined;
  for (const name of pointerNames(finding.path)) {
    node = memberOf(node, name);
    if (typeof node !== "object" || node === null) break;
    place = source.positionOf(node) ?? place;
  }
  return { ...finding, message: `${placed(source.name, place)}: ${finding.path || "/"} ${finding.message}` };
}

function checkMeaning(corpus: Corpus): readonly Finding[] {
  const findings: Finding[] = [];
  const say = (path: string, message: string): void => {
    findings.push({ code: "corpus_invalid", path, message });
  };
  const account = new Set([...Object.keys(corpus.account), ...Object.keys(corpus.account.more ?? {})]);
  const ids = new Set<string>();
  const visit = (probe: CorpusProbe, path: string, known: ReadonlySet<string>): void => {
    if (ids.has(probe.id)) say(`${path}/id`, `${JSON.stringify(probe.id)} is used twice`);
    ids.add(probe.id);
    checkProbe(corpus, probe, path, known, say);
  };
  for (const [index, probe] of corpus.probes.entries()) visit(probe, `/probes/${index}`, account);
  for (const [index, trace] of (corpus.traces ?? []).entries()) {
    const known = new Set(account);
    for (const [step, probe] of trace.steps.entries()) {
      visit(probe, `/traces/${index}/steps/${step}`, known);
      for (const taken of Object.keys(probe.take ?? {})) known.add(taken);
    }
    for (const [step, probe] of (trace.nearby ?? []).entries()) {
      visit(probe, `/traces/${index}/nearby/${step}`, known);
      if (!("denied" in probe.expect))
        say(`/traces/${index}/nearby/${step}/expect`, "a nearby action must fail: expect {denied: true}");
    }
  }
  for (const [index, refresh] of (corpus.refresh ?? []).entries()) {
    if (corpus.credentials[refresh.credential] === undefined)
      say(`/refresh/${index}/credential`, `no credential is called ${refresh.credential}`);
  }
  if (!Object.values(corpus.credentials).some((credential) => credential.case === "valid"))
    say("/credentials", "one credential must have case: valid");
  checkCases(corpus, say);
  return findings;
}

/** Expired, for another audience, without the scope, revoked: each is sent, or the corpus says why it cannot be. */
function checkCases(corpus: Corpus, say: (path: string, message: string) => void): void {
  const held = new Set(Object.values(corpus.credentials).map((credential) => credential.case));
  for (const name of refusedCases) {
    if (held.has(name) === (corpus.without?.[name] === undefined)) continue;
    if (held.has(name)) say(`/without/${name}`, `a credential has case: ${name}, so that nothing is missing`);
    else say("/credentials", `no credential has case: ${name}; add one, or say in without.${name} why there is none`);
  }
  const bad = [...held].some((name) => name !== "valid");
  if (bad && !corpus.probes.some((probe) => probe.cases === true && !("denied" in probe.expect)))
    say("/probes", "one probe that must be answered needs cases: true, so that the other credentials are sent");
}

function checkProbe(
  corpus: Corpus,
  probe: CorpusProbe,
  path: string,
  known: ReadonlySet<string>,
  say: (path: string, message: string) => void,
): void {
  const { request } = probe;
  if (!SAFE.has(request.method) && probe.side_effect === undefined) {
    say(path, `${request.method} may have an effect: say side_effect: true, or false where it only asks`);
  }
  if (probe.credential !== undefined && corpus.credentials[probe.credential] === undefined) {
    say(`${path}/credential`, `no credential is called ${probe.credential}`);
  }
  const forbidden = Object.values(probe.forbidden ?? {}).flat();
  for (const reference of referencesIn([
    request.with ?? {},
    request.query ?? {},
    request.body ?? null,
    request.headers ?? {},
    forbidden,
  ])) {
    if (!known.has(reference))
      say(`${path}/request`, `$${reference} is no name of the account and taken by no earlier step`);
  }
  const names = [...request.path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? "");
  for (const name of names) {
    if (request.with?.[name] === undefined) say(`${path}/request/with`, `the path needs ${name}`);
  }
  for (const name of Object.keys(probe.forbidden ?? {})) {
    if (!names.includes(name)) say(`${path}/forbidden`, `${name} is no parameter of the path`);
  }
}
