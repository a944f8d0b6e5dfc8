import { Denied } from "../../../kernel/failure.ts";
import { splitWords } from "../../upgrade/meaning/words.ts";
import type { Api, ApiOperation } from "../../upgrade/model/api.ts";

/** Which operations of a document are wanted. Every filter that is given must let one through. */
export interface OperationChoice {
  /** operationIds or keys (`GET /sites/{id}`); "all" for every operation of the document. */
  readonly operations: readonly string[] | "all";
  readonly tags?: readonly string[];
  /** How a path begins, whole segments: `/repos` takes `/repos/{id}` and not `/reposts`. */
  readonly paths?: readonly string[];
  readonly methods?: readonly string[];
}

export function chooseOperations(api: Api, choice: OperationChoice): readonly ApiOperation[] {
  const named = choice.operations === "all" ? api.operations : findNamed(api, choice.operations);
  const { tags = [], paths = [], methods = [] } = choice;
  const wanted = new Set(tags.map((tag) => tag.toLowerCase()));
  const verbs = new Set(methods.map((method) => method.toUpperCase()));
  const chosen = named.filter(
    (operation) =>
      (wanted.size === 0 || operation.tags.some((tag) => wanted.has(tag.toLowerCase()))) &&
      (paths.length === 0 || paths.some((path) => beginsWith(operation.path, path))) &&
      (verbs.size === 0 || verbs.has(operation.method)),
  );
  if (chosen.length > 0) return chosen;
  throw new Denied("value_not_allowed", `${api.file} has no operation that fits. Its tags: ${describeTags(api, 12)}.`);
}

/** By first tag, in the document's own words. */
export function groupByTag(operations: readonly ApiOperation[]): ReadonlyMap<string, readonly ApiOperation[]> {
  const groups = new Map<string, ApiOperation[]>();
  for (const operation of operations) {
    const tag = operation.tags[0] ?? "other";
    const known = groups.get(tag);
    if (known === undefined) groups.set(tag, [operation]);
    else known.push(operation);
  }
  return new Map([...groups].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export function describeTags({ operations }: Pick<Api, "operations">, most: number): string {
  const groups = [...groupByTag(operations)].sort(([, a], [, b]) => b.length - a.length);
  const more = groups.length > most ? `, and ${groups.length - most} more` : "";
  return (
    groups
      .slice(0, most)
      .map(([tag, held]) => `${tag} (${held.length})`)
      .join(", ") + more || "none"
  );
}

function beginsWith(path: string, prefix: string): boolean {
  const start = prefix.endsWith("/") ? prefix.slice(0, -1) : prefix;
  return path === start || path.startsWith(`${start}/`);
}

function findNamed(api: Api, names: readonly string[]): readonly ApiOperation[] {
  const chosen = new Set<ApiOperation>();
  for (const name of names) {
    const found = api.operations.find(({ operationId, key }) => operationId === name || key === name);
    if (found === undefined) throw new Denied("value_not_allowed", unknownOperation(api, name));
    chosen.add(found);
  }
  return [...chosen];
}

function unknownOperation(api: Api, name: string): string {
  const words = splitWords(name);
  const near = api.operations
    .map((operation) => {
      const own = splitWords(operation.operationId ?? operation.key);
      return { name: operation.operationId ?? operation.key, score: words.filter((word) => own.includes(word)).length };
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 3)
    .map((one) => one.name);
  const hint = near.length === 0 ? "" : ` Near it: ${near.join(", ")}.`;
  return `${api.file} has no operation ${JSON.stringify(name)}.${hint}`;
}
