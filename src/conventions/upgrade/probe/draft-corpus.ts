import { stringify } from "yaml";
import { digestText } from "../../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { type AgentScope, indexScopes } from "../compare/agent-scope.ts";
import type { Review } from "../compare/review.ts";
import { classifyApi } from "../meaning/classify-api.ts";
import { harmless } from "../meaning/effect.ts";
import { isPaging, steeringOf } from "../meaning/steering.ts";
import { indexTakers, traceFlows } from "../meaning/trace-flows.ts";
import { splitWords } from "../meaning/words.ts";
import type { Api, ApiOperation } from "../model/api.ts";
import { type Corpus, type CorpusProbe, type CorpusRequest, type CorpusTrace, refusedCases } from "./corpus-schema.ts";
import { expandLimits } from "./expand.ts";

export interface Draft {
  readonly corpus: Corpus;
  /** What a person should look at: left out to stay within the limits, or not to be guessed. */
  readonly left: readonly string[];
}

const PROBES = 40;
const OPTIONAL = 6;
const TRACES = 8;

/** A first corpus from document, pack and review. Every value that only a person can know is marked REPLACE. */
export function draftCorpus(before: Api, after: Api, review: Review, pack: readonly AgentScope[]): Draft {
  const effects = classifyApi(after);
  const acts = (operation: ApiOperation): boolean => !harmless(effects.get(operation)?.effect ?? "write");
  const scopes = indexScopes(after, pack);
  const known =
    pack.length > 0
      ? scopes.used
      : after.operations.filter((one) => before.operations.some(({ route }) => route === one.route));
  const more = new Map<string, string>();
  const left: string[] = [];
  const probes: CorpusProbe[] = [];
  let effectsLeft = expandLimits.sideEffects;

  for (const operation of known.filter((one) => !acts(one))) {
    if (probes.length >= PROBES) {
      left.push(`${operation.key}: read, no room left; probe it in a second corpus`);
      continue;
    }
    const probe = readProbe(after, operation, more);
    probes.push(probes.length === 0 ? { ...probe, cases: true } : probe);
  }
  const added = new Set(
    review.differences.filter(({ kind }) => kind === "operation_added").map(({ subject }) => subject),
  );
  // A new route that the pack already names is wanted: it is not asked to answer and to fail at once.
  const fresh = after.operations.filter(
    (one) => added.has(one.key) && !known.includes(one) && (pack.length === 0 || scopes.near(one).length > 0),
  );
  const mustFail = [
    ...fresh.map((operation) => ({ operation, isNew: true })),
    ...known.filter(acts).map((operation) => ({ operation, isNew: false })),
  ];
  for (const { operation, isNew } of mustFail) {
    const effect = acts(operation);
    if ((effect && effectsLeft === 0) || probes.length >= PROBES * 2) {
      left.push(
        `${operation.key}: ${isNew ? "new route" : "acting operation"}, no room left; probe it in a second corpus`,
      );
      continue;
    }
    if (effect) effectsLeft--;
    probes.push(deniedProbe(after, operation, isNew, effect, more));
  }
  const traces = draftTraces(
    after,
    known.filter((one) => !acts(one)),
    fresh.filter((one) => !acts(one)),
    more,
  );
  const vault = pack.find(({ credential }) => credential !== null)?.credential ?? undefined;
  return { corpus: assemble(after, probes, traces, more, vault), left };
}

/** The draft as a file, with what is left to do at its head. */
export function writeCorpus({ corpus, left }: Draft): string {
  const head = [
    "# A drafted corpus. Replace every REPLACE value with one of an isolated test account, look at each expectation,",
    "# and add refresh cases by hand. Tokens stay in the environment; this file never holds one.",
    ...left.map((line) => `# left out: ${line.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ")}`),
  ];
  return `${head.join("\n")}\n${stringify(corpus, { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

function assemble(
  api: Api,
  probes: readonly CorpusProbe[],
  traces: readonly CorpusTrace[],
  more: ReadonlyMap<string, string>,
  vault: string | undefined,
): Corpus {
  return {
    format: "gw.upgrade-corpus/v1",
    api: api.title.slice(0, 200),
    account: {
      allowed_project: "REPLACE-allowed-project",
      forbidden_project: "REPLACE-forbidden-project",
      inactive_record: "REPLACE-inactive-record",
      other_tenant_record: "REPLACE-other-tenant-record",
      ...(more.size === 0 ? {} : { more: Object.fromEntries([...more].sort(([a], [b]) => (a < b ? -1 : 1))) }),
    },
    credentials: {
      main: { env: "GW_PROBE_TOKEN", case: "valid", ...(vault === undefined ? {} : { vault }) },
      ...Object.fromEntries(refusedCases.map((name) => [name, { env: `GW_PROBE_${name.toUpperCase()}`, case: name }])),
    },
    probes: [...probes],
    ...(traces.length === 0 ? {} : { traces: [...traces] }),
  };
}

function readProbe(api: Api, operation: ApiOperation, more: Map<string, string>): CorpusProbe {
  const status = [...operation.answers.keys()].filter((one) => /^2\d\d$/.test(one)).map(Number);
  const optional = operation.parameters
    .filter((one) => one.in === "query" && !one.required && !isPaging(one.name))
    .slice(0, OPTIONAL);
  const first = pathNames(operation)[0];
  const pages = pagesOf(api, operation);
  return {
    id: idOf(operation),
    request: requestOf(api, operation, more),
    expect: { status: status.length === 0 ? [200] : status.slice(0, 10) },
    ...(operation.method === "GET" || operation.method === "HEAD" ? {} : { side_effect: false }),
    ...(optional.length === 0
      ? {}
      : {
          optional: optional.map((one) => ({
            in: "query" as const,
            name: one.name,
            ...(one.allowEmpty ? { empty: true } : {}),
            explicit: samples(api, one.schema),
          })),
        }),
    ...(pages === null ? {} : { pages }),
    ...(first === undefined ? {} : { forbidden: { [first]: ["$forbidden_project", "$other_tenant_record"] } }),
  };
}

function deniedProbe(
  api: Api,
  operation: ApiOperation,
  isNew: boolean,
  effect: boolean,
  more: Map<string, string>,
): CorpusProbe {
  const request = requestOf(api, operation, more);
  const first = pathNames(operation)[0];
  // An operation in use must fail where it has no business; a new route must fail everywhere until somebody wants it.
  const target =
    isNew || first === undefined ? request : { ...request, with: { ...request.with, [first]: "$forbidden_project" } };
  return {
    id: `${isNew ? "new." : "forbidden."}${idOf(operation)}`,
    ...(effect ? { note: "It acts if it is allowed: name records that may be lost." } : {}),
    request: target,
    expect: { denied: true },
    ...(effect || (operation.method !== "GET" && operation.method !== "HEAD") ? { side_effect: effect } : {}),
    ...(isNew ? { new_route: true } : {}),
  };
}

/** Reads that hand an identifier to another read, and new routes that would take it too. */
function draftTraces(
  api: Api,
  known: readonly ApiOperation[],
  fresh: readonly ApiOperation[],
  more: Map<string, string>,
): readonly CorpusTrace[] {
  const takers = indexTakers(api);
  const byKey = new Map(known.map((operation) => [operation.key, operation]));
  const traces: CorpusTrace[] = [];
  for (const source of known) {
    for (const flow of traceFlows(api, source, takers)) {
      const target = flow.takenBy.map((key) => byKey.get(key)).find((one) => one !== undefined);
      const name = target === undefined ? undefined : pathNames(target).at(-1);
      if (target === undefined || name === undefined || traces.length >= TRACES) continue;
      const taken = `taken_${splitWords(name).join("_")}`.slice(0, 60);
      const pointer = `/${flow.field
        .replace(/^\[\]\./, "[].")
        .replaceAll("[]", ".0")
        .split(".")
        .filter(Boolean)
        .join("/")}`;
      const id = `trace${traces.length + 1}.${idOf(target)}`;
      const use = (operation: ApiOperation): CorpusRequest => {
        const request = requestOf(api, operation, more);
        const last = pathNames(operation).at(-1);
        return last === undefined ? request : { ...request, with: { ...request.with, [last]: `$${taken}` } };
      };
      const nearby = fresh.filter((one) => flow.takenBy.includes(one.key)).slice(0, 3);
      traces.push({
        id,
        steps: [
          {
            id: `${id}.1`,
            request: requestOf(api, source, more),
            expect: { status: [200] },
            take: { [taken]: pointer },
          },
          { id: `${id}.2`, request: use(target), expect: { status: [200] } },
        ],
        ...(nearby.length === 0
          ? {}
          : {
              nearby: nearby.map((one, index) => ({
                id: `${id}.near${index + 1}`,
                request: use(one),
                expect: { denied: true as const },
              })),
            }),
      });
    }
  }
  return traces;
}

function requestOf(api: Api, operation: ApiOperation, more: Map<string, string>): CorpusRequest {
  const value = (name: string): string => {
    const key =
      splitWords(name)
        .join("_")
        .replace(/^[^a-z]+/, "") || "value";
    more.set(key.slice(0, 60), `REPLACE-${key.slice(0, 60)}`);
    return `$${key.slice(0, 60)}`;
  };
  const names = pathNames(operation);
  const given = names.map((name, index) => [name, index === 0 ? "$allowed_project" : value(name)]);
  const query = operation.parameters
    .filter((one) => one.in === "query" && one.required)
    .map((one) => [one.name, value(one.name)]);
  const schema = operation.body?.required === true ? [...operation.body.media.values()][0] : undefined;
  return {
    method: methodOf(operation),
    path: operation.path,
    ...(given.length === 0 ? {} : { with: Object.fromEntries(given) }),
    ...(query.length === 0 ? {} : { query: Object.fromEntries(query) }),
    ...(schema === undefined ? {} : { body: bodyOf(api, schema) }),
  };
}

function methodOf({ method }: ApiOperation): CorpusRequest["method"] {
  switch (method) {
    case "HEAD":
    case "POST":
    case "PUT":
    case "PATCH":
    case "DELETE":
      return method;
  }
  return "GET";
}

/** A body with what is required; what is no object or list of objects is left for a person to write. */
function bodyOf(api: Api, schema: JsonValue): JsonObject | readonly JsonObject[] {
  const shape = api.schemas.shapeOf(schema);
  const filled = skeleton(api, shape.items ?? schema, 0);
  const body = isJsonObject(filled) ? filled : {};
  return shape.items === undefined ? body : [body];
}

function skeleton(api: Api, schema: JsonValue, depth: number): JsonValue {
  const shape = api.schemas.shapeOf(schema);
  if (shape.properties.size === 0 || depth > 4) return samples(api, schema)[0] ?? "REPLACE";
  const required = [...shape.properties].filter(([, property]) => property.required);
  return Object.fromEntries(required.map(([name, property]) => [name, skeleton(api, property.schema, depth + 1)]));
}

function samples(api: Api, schema: JsonValue): (string | number | boolean)[] {
  const shape = api.schemas.shapeOf(schema);
  const known = [...(shape.fallback === null ? [] : [shape.fallback]), ...(shape.values ?? [])]
    .map((text): unknown => JSON.parse(text))
    .filter((value) => typeof value === "string" || typeof value === "number" || typeof value === "boolean");
  if (known.length > 0) return [...new Set(known)].slice(0, 3);
  if (shape.types.includes("boolean")) return [true, false];
  return shape.types.includes("integer") || shape.types.includes("number") ? [1] : ["REPLACE"];
}

function pagesOf(api: Api, operation: ApiOperation): NonNullable<CorpusProbe["pages"]> | null {
  const cursor = operation.parameters.find(
    (one) => one.in === "query" && steeringOf(one.name, { types: [], format: null }) === "cursor",
  );
  for (const [status, answer] of operation.answers) {
    if (!status.startsWith("2")) continue;
    if (answer.headers.has("link")) return { link: true };
    for (const schema of answer.media.values()) {
      const field = [...api.schemas.shapeOf(schema).properties.keys()].find(
        (name) => steeringOf(name, { types: [], format: null }) === "cursor",
      );
      if (field !== undefined && cursor !== undefined) return { next: `/${field}`, param: cursor.name };
    }
  }
  return null;
}

function pathNames(operation: ApiOperation): readonly string[] {
  return [...operation.path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name ?? "");
}

function idOf(operation: ApiOperation): string {
  const whole = splitWords(operation.operationId ?? `${operation.method} ${operation.path}`).join("-") || "operation";
  return whole.length <= 48 ? whole : `${whole.slice(0, 40)}-${digestText(operation.key).slice(7, 14)}`;
}
