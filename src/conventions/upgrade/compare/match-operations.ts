import { withoutVersion } from "../meaning/words.ts";
import type { Api, ApiOperation } from "../model/api.ts";
import { routeOf } from "../model/read-operation.ts";

export interface Match {
  readonly before: ApiOperation;
  readonly after: ApiOperation;
  /** How the two were recognized as one. */
  readonly by: "route" | "operation_id" | "version_prefix";
}

export interface Matches {
  readonly pairs: readonly Match[];
  readonly added: readonly ApiOperation[];
  readonly removed: readonly ApiOperation[];
}

/** Same route first; then the same operationId under the same method; then the same path under another version prefix. */
export function matchOperations(before: Api, after: Api): Matches {
  const pairs: Match[] = [];
  let oldOnes = [...before.operations];
  let newOnes = [...after.operations];
  const pass = (by: Match["by"], nameOf: (operation: ApiOperation) => string | null): void => {
    const waiting = group(newOnes, nameOf);
    const known = group(oldOnes, nameOf);
    const taken = new Set<ApiOperation>();
    for (const [name, olds] of known) {
      const news = waiting.get(name) ?? [];
      // A name that stands for several on either side proves nothing, unless the literal keys agree.
      for (const old of olds) {
        const exact = news.find((one) => one.key === old.key);
        const match = exact ?? (olds.length === 1 && news.length === 1 ? news[0] : undefined);
        if (match === undefined || taken.has(match)) continue;
        taken.add(match);
        taken.add(old);
        pairs.push({ before: old, after: match, by });
      }
    }
    oldOnes = oldOnes.filter((operation) => !taken.has(operation));
    newOnes = newOnes.filter((operation) => !taken.has(operation));
  };
  pass("route", (operation) => operation.route);
  pass("operation_id", (operation) =>
    operation.operationId === null ? null : `${operation.method} ${operation.operationId}`,
  );
  pass("version_prefix", (operation) => routeOf(operation.method, withoutVersion(operation.path)));
  return { pairs, added: newOnes, removed: oldOnes };
}

function group(
  operations: readonly ApiOperation[],
  nameOf: (operation: ApiOperation) => string | null,
): ReadonlyMap<string, readonly ApiOperation[]> {
  const groups = new Map<string, ApiOperation[]>();
  for (const operation of operations) {
    const name = nameOf(operation);
    if (name === null) continue;
    const known = groups.get(name);
    if (known === undefined) groups.set(name, [operation]);
    else known.push(operation);
  }
  return groups;
}
