/**
 * The review of two documents: what an existing credential and an existing agent scope can newly do. Public diff tools
 * ask whether clients break; here that is one surface of four, and everything that widens comes first.
 */

import { classifyApi } from "../meaning/classify-api.ts";
import { reachOfCredential, readHoldings } from "../meaning/credential-reach.ts";
import { indexTakers, traceFlows } from "../meaning/trace-flows.ts";
import type { Api, ApiOperation } from "../model/api.ts";
import { type AgentScope, indexScopes } from "./agent-scope.ts";
import { compareRest } from "./compare-body.ts";
import { compareComponents } from "./compare-components.ts";
import { compareCalls, compareOperation } from "./compare-operation.ts";
import { compareRequirements, compareSchemes, findRenamedSchemes } from "./compare-security.ts";
import { compareOwnServers, compareServers } from "./compare-servers.ts";
import { describeAdded, describeRemoved } from "./describe-operation.ts";
import {
  asDifference,
  changes,
  createRecorder,
  type Difference,
  type Draft,
  differenceId,
  surfaces,
} from "./difference.ts";
import { type Match, matchOperations } from "./match-operations.ts";
import { createContext } from "./shape-context.ts";

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
  /** `observed` where a probe looked at the provider itself, `pack` where there is no document. */
  readonly dialect: Api["dialect"] | "observed" | "pack";
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
  const document = createContext(before, after, "API", "read", recorder.add);
  compareCalls("webhook", before.webhooks, after.webhooks, document);
  compareRest("", before.rest, after.rest, document);
  for (const match of matches.pairs) {
    const add = placing(match, recorder.add);
    compareRequirements(match, renamed, add);
    compareOwnServers(match, before, after, add);
    compareOperation(
      match,
      createContext(before, after, match.after.key, effects.get(match.after)?.effect ?? "write", add),
    );
  }
  const hooks = [...after.webhooks].flatMap(([name, call]): readonly Match[] => {
    const old = before.webhooks.get(name);
    return old === undefined ? [] : [{ before: old, after: call, by: "route" }];
  });
  compareComponents(before, after, [...matches.pairs, ...hooks], effects, recorder.add);

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

/** Differences inside an operation carry its lines and are about it alone. */
function placing(match: Match, add: (draft: Draft) => void): (draft: Draft) => void {
  const lines = { before: match.before.position?.line ?? null, after: match.after.position?.line ?? null };
  return (draft) => add({ ...draft, operations: [match.after.key], lines });
}

function scopesTouched(
  before: Api,
  after: Api,
  pairs: readonly Match[],
  oldUsing: (operation: ApiOperation) => readonly string[],
  newUsing: (operation: ApiOperation) => readonly string[],
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
  for (const draft of drafts) {
    const id = differenceId(draft);
    const operations = draft.operations ?? [];
    const scopes =
      operations.length === 0 ? everyAction : [...new Set(operations.flatMap((key) => touched.get(key) ?? []))].sort();
    found.set(id, { ...asDifference(draft), operations, scopes });
  }
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
