/**
 * The review of two documents: what an existing credential and an existing agent scope can newly do. Public diff tools
 * ask whether clients break; here that is one surface of four, and everything that widens comes first.
 */

import { digestJson } from "../../../kernel/canonical-json.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { classifyApi } from "../meaning/classify-api.ts";
import { type Effect, type EffectVerdict, harmless } from "../meaning/classify-effect.ts";
import { reachOfCredential, readHoldings } from "../meaning/credential-reach.ts";
import { indexTakers, traceFlows } from "../meaning/trace-flows.ts";
import { type Api, describeSecurity, type Operation } from "../model/api.ts";
import { type Reach, visitSchemas } from "../model/visit.ts";
import { type AgentScope, indexScopes } from "./agent-scope.ts";
import { compareOperation } from "./compare-operation.ts";
import { compareRequirements, compareSchemes, findRenamedSchemes } from "./compare-security.ts";
import { compareOwnServers, compareServers } from "./compare-servers.ts";
import { compareSchemas } from "./compare-shape.ts";
import { createRecorder, type Difference, type Draft, differenceId, groupId, reachOf, surfaces } from "./difference.ts";
import { type Match, matchOperations } from "./match-operations.ts";
import type { ShapeContext } from "./shape-context.ts";

export interface Review {
  readonly before: ApiFacts;
  readonly after: ApiFacts;
  readonly counts: {
    readonly added: number;
    readonly removed: number;
    readonly renamed: number;
    readonly kept: number;
  };
  readonly differences: readonly Difference[];
  readonly pack: readonly AgentScope[];
}

export type ApiFacts = Pick<Api, "file" | "digest" | "bytes" | "title" | "version"> & {
  /** `observed` where a probe looked at the provider itself. */
  readonly dialect: Api["dialect"] | "observed";
  readonly operations: number;
};

export function reviewUpgrade(before: Api, after: Api, pack: readonly AgentScope[] = []): Review {
  const recorder = createRecorder();
  const matches = matchOperations(before, after);
  const oldScopes = indexScopes(before, pack);
  const newScopes = indexScopes(after, pack);
  const effects = new Map([...classifyApi(before), ...classifyApi(after)]);
  const renamed = findRenamedSchemes(before, after);

  compareServers(before, after, recorder.add);
  compareSchemes(before, after, renamed, recorder.add);
  compareWebhooks(before, after, recorder.add);
  for (const match of matches.pairs) {
    const add = placing(match, recorder.add);
    compareRequirements(match, renamed, add);
    compareOwnServers(match, before, after, add);
    compareOperation(
      match,
      shapeContext(before, after, match.after.key, effects.get(match.after)?.effect ?? "write", add),
    );
  }
  compareComponents(before, after, matches.pairs, effects, recorder.add);

  const used = oldScopes.used.length > 0 ? oldScopes.used : before.operations;
  const holdings = readHoldings(
    before,
    used,
    pack.flatMap(({ credential }) => credential ?? []),
  );
  const takers = matches.added.length > 0 ? indexTakers(after) : new Map();
  for (const operation of matches.added) {
    recorder.add(
      describeAdded(after, operation, effects.get(operation), {
        credential: reachOfCredential(after, operation, holdings),
        flows: traceFlows(after, operation, takers),
        near: newScopes.near(operation),
      }),
    );
  }
  for (const operation of matches.removed) recorder.add(describeRemoved(operation));

  const using = scopesTouched(before, after, matches.pairs, oldScopes.using, newScopes.using);
  return {
    before: factsOf(before),
    after: factsOf(after),
    counts: {
      added: matches.added.length,
      removed: matches.removed.length,
      renamed: matches.pairs.filter(({ by }) => by !== "route").length,
      kept: matches.pairs.length,
    },
    differences: settle(recorder.drafts, using, pack),
    pack,
  };
}

function shapeContext(
  before: Api,
  after: Api,
  subject: string,
  effect: Effect,
  add: (draft: Draft) => void,
): ShapeContext {
  return {
    before: before.schemas,
    after: after.schemas,
    subject,
    component: null,
    inRequest: false,
    inAnswer: false,
    effect,
    add,
  };
}

/** Differences inside an operation carry its lines and are about it alone. */
function placing(match: Match, add: (draft: Draft) => void): (draft: Draft) => void {
  const lines = { before: match.before.position?.line ?? null, after: match.after.position?.line ?? null };
  return (draft) => add({ ...draft, operations: [match.after.key], lines });
}

/** A component is compared once, for all operations that reach it, in the directions in which they do. */
function compareComponents(
  before: Api,
  after: Api,
  pairs: readonly Match[],
  effects: ReadonlyMap<Operation, EffectVerdict>,
  add: (draft: Draft) => void,
): void {
  const oldReach = visitSchemas(before);
  const newReach = visitSchemas(after);
  const uses = new Map<string, { request: Match[]; answer: Match[] }>();
  for (const match of pairs) {
    for (const direction of ["request", "answer"] as const) {
      for (const name of reached(direction, oldReach.get(match.before), newReach.get(match.after))) {
        const use = uses.get(name) ?? { request: [], answer: [] };
        use[direction].push(match);
        uses.set(name, use);
      }
    }
  }
  for (const [name, use] of [...uses].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const old = before.schemas.named(name);
    const next = after.schemas.named(name);
    if (old === undefined || next === undefined) continue;
    const operations = [...new Set([...use.request, ...use.answer].map((match) => match.after.key))].sort();
    const acting = use.request.some((match) => !harmless(effects.get(match.after)?.effect ?? "write"));
    const context: ShapeContext = {
      ...shapeContext(before, after, `schema ${name}`, acting ? "write" : "read", (draft) =>
        add({ ...draft, operations }),
      ),
      component: name,
      inRequest: use.request.length > 0,
      inAnswer: use.answer.length > 0,
    };
    compareSchemas(context, { $ref: refTo(before, name) }, { $ref: refTo(after, name) }, { at: "", name: "" });
  }
}

function reached(direction: keyof Reach, old: Reach | undefined, next: Reach | undefined): ReadonlySet<string> {
  return new Set([...(old?.[direction] ?? []), ...(next?.[direction] ?? [])]);
}

function refTo(api: Api, name: string): string {
  const escaped = encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
  return api.dialect === "swagger-2.0" ? `#/definitions/${escaped}` : `#/components/schemas/${escaped}`;
}

function compareWebhooks(before: Api, after: Api, add: (draft: Draft) => void): void {
  for (const name of new Set([...before.webhooks, ...after.webhooks])) {
    const had = before.webhooks.includes(name);
    if (had === after.webhooks.includes(name)) continue;
    add({
      surface: "action_reach",
      kind: had ? "webhook_removed" : "webhook_added",
      change: had ? "narrows" : "widens",
      subject: "API",
      at: `webhook ${name}`,
      says: had ? `The provider no longer sends ${name}.` : `The provider can now send ${name}.`,
      before: had ? name : null,
      after: had ? null : name,
    });
  }
}

function describeAdded(
  api: Api,
  operation: Operation,
  effect: EffectVerdict | undefined,
  found: Pick<Difference, "credential" | "flows"> & { readonly near: readonly string[] },
): Draft {
  const kind = effect?.effect ?? "write";
  const notes: string[] = [];
  if (found.near.length > 0)
    notes.push(`It stands beside what these actions use: ${found.near.join(", ")}. Probe it with their credential.`);
  if (operation.roles.length > 0) notes.push(`The text asks for: ${operation.roles.join("; ")}.`);
  const text = operation.summary || operation.description;
  return {
    surface: reachOf(kind),
    kind: "operation_added",
    change: "widens",
    subject: operation.key,
    at: "",
    says: `New operation. ${effectSentence(kind)}`,
    before: null,
    after: `${text.split("\n", 1)[0]?.slice(0, 240) || operation.operationId || operation.key}\nasks for ${describeSecurity(operation.security)}`,
    binding: contractPrint(api, operation, kind),
    notes,
    operations: [operation.key],
    lines: { before: null, after: operation.position?.line ?? null },
    effect: effect ?? null,
    credential: found.credential,
    flows: found.flows,
    together: `${kind} ${api.title} ${operation.key}`,
  };
}

/** Everything a caller of the operation deals with, so that a decision about it does not cover a later version of it. */
function contractPrint(api: Api, operation: Operation, effect: Effect): string {
  const print = (schema: JsonValue): string => api.schemas.contentPrint(schema);
  const media = (map: ReadonlyMap<string, JsonValue>): string[] =>
    [...map].map(([type, schema]) => `${type} ${print(schema)}`);
  return digestJson({
    effect,
    security: describeSecurity(operation.security),
    servers: operation.servers,
    parameters: operation.parameters.map((one) => [one.in, one.name, one.required, one.style, print(one.schema)]),
    body: operation.body === null ? null : [operation.body.required, ...media(operation.body.media)],
    answers: [...operation.answers].map(([status, answer]) => [
      status,
      ...media(answer.media),
      ...media(answer.headers),
    ]),
    callbacks: operation.callbacks,
  });
}

function effectSentence(effect: Effect): string {
  switch (effect) {
    case "read":
      return "It reads.";
    case "preview":
      return "It computes without changing anything.";
    case "write":
      return "It changes something.";
    case "create":
      return "It creates something.";
    case "delete":
      return "It deletes something.";
    case "send":
      return "It sends something to somebody.";
    case "purchase":
      return "It can cost money.";
    case "grant":
      return "It changes what others may do.";
    case "mint":
      return "It hands out something that opens doors.";
  }
}

function describeRemoved(operation: Operation): Draft {
  return {
    surface: "request_compatibility",
    kind: "operation_removed",
    change: "narrows",
    subject: operation.key,
    at: "",
    says: "The operation is gone.",
    before: operation.operationId ?? operation.key,
    after: null,
    operations: [operation.key],
    lines: { before: operation.position?.line ?? null, after: null },
    together: operation.key,
  };
}

function scopesTouched(
  before: Api,
  after: Api,
  pairs: readonly Match[],
  oldUsing: (operation: Operation) => readonly string[],
  newUsing: (operation: Operation) => readonly string[],
): ReadonlyMap<string, readonly string[]> {
  const touched = new Map<string, readonly string[]>();
  for (const operation of before.operations) touched.set(operation.key, oldUsing(operation));
  for (const operation of after.operations) touched.set(operation.key, newUsing(operation));
  for (const match of pairs) {
    touched.set(match.after.key, [...new Set([...oldUsing(match.before), ...newUsing(match.after)])].sort());
  }
  return touched;
}

/** Ids, groups, touched actions and the order a reviewer reads in: by surface, what widens first. */
function settle(
  drafts: readonly Draft[],
  touched: ReadonlyMap<string, readonly string[]>,
  pack: readonly AgentScope[],
): readonly Difference[] {
  const found = new Map<string, Difference>();
  const everyAction = pack.map(({ action }) => action).sort();
  for (const { together: _together, ...draft } of drafts) {
    const id = differenceId(draft);
    const operations = draft.operations ?? [];
    const scopes =
      operations.length === 0 ? everyAction : [...new Set(operations.flatMap((key) => touched.get(key) ?? []))].sort();
    found.set(id, {
      ...draft,
      id,
      group: groupId({ ...draft, ...(_together === undefined ? {} : { together: _together }) }),
      binding: draft.binding ?? null,
      notes: draft.notes ?? [],
      operations,
      scopes,
      lines: draft.lines ?? { before: null, after: null },
      effect: draft.effect ?? null,
      credential: draft.credential ?? null,
      flows: draft.flows ?? [],
    });
  }
  const changes = ["widens", "shifts", "narrows"];
  const rank = (one: Difference): string =>
    `${surfaces.indexOf(one.surface)} ${changes.indexOf(one.change)} ${one.kind === "operation_added" ? 0 : 1} ${one.kind} ${one.subject} ${one.at} ${one.id}`;
  return [...found.values()]
    .map((one) => ({ one, rank: rank(one) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ one }) => one);
}

function factsOf(api: Api): ApiFacts {
  const { file, digest, bytes, dialect, title, version, operations } = api;
  return { file, digest, bytes, dialect, title, version, operations: operations.length };
}
