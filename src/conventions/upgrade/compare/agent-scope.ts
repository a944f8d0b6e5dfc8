import { withoutVersion } from "../meaning/words.ts";
import type { Api, ApiOperation } from "../model/api.ts";
import { routeOf } from "../model/read-operation.ts";
import { basePathOf } from "../model/read-servers.ts";

/** One action of a pack, as far as a review needs it. */
export interface AgentScope {
  /** `PACK.ACTION` */
  readonly action: string;
  readonly method: string;
  readonly path: string;
  /** The vault label, never a secret. */
  readonly credential: string | null;
  readonly effect: string;
}

export interface ScopeIndex {
  /** Actions that call this operation. */
  using(operation: ApiOperation): readonly string[];
  /** Actions whose credential and collection stand so near that a wider pattern would take it in. */
  near(operation: ApiOperation): readonly string[];
  readonly used: readonly ApiOperation[];
}

/** Packs write whole paths; documents write them below a server's base path, sometimes with a version in either. */
export function indexScopes(api: Api, scopes: readonly AgentScope[]): ScopeIndex {
  const bases = [...new Set(api.servers.map(basePathOf))];
  const byRoute = new Map<string, string[]>();
  const byCollection = new Map<string, string[]>();
  for (const scope of scopes) {
    push(byRoute, routeOf(scope.method, withoutVersion(scope.path)), scope.action);
    push(byCollection, collectionOf(scope.path), scope.action);
  }
  const routesOf = (operation: ApiOperation): readonly string[] => [
    ...new Set(
      [operation.path, ...bases.map((base) => base + operation.path)].map((path) =>
        routeOf(operation.method, withoutVersion(path)),
      ),
    ),
  ];
  const using = (operation: ApiOperation): readonly string[] =>
    [...new Set(routesOf(operation).flatMap((route) => byRoute.get(route) ?? []))].sort();
  return {
    using,
    near: (operation) => [...new Set(byCollection.get(collectionOf(operation.path)) ?? [])].sort(),
    used: scopes.length === 0 ? [] : api.operations.filter((operation) => using(operation).length > 0),
  };
}

/** The first named segment: what an agent scope on `/sites/{id}/deploys` and a new `/sites/{id}/env` have in common. */
function collectionOf(path: string): string {
  return (
    withoutVersion(path)
      .split("/")
      .find((segment) => segment !== "" && !segment.includes("{")) ?? "/"
  );
}

function push(map: Map<string, string[]>, key: string, value: string): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}
