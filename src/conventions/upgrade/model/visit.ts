import type { JsonValue } from "../../../kernel/json.ts";
import type { Api, ApiOperation } from "./api.ts";
import type { SchemaShape, Schemas } from "./shape.ts";

export type Direction = "request" | "answer";

/** Which operations use which component schemas, and in which direction their values travel. */
export interface Usage {
  /** Every component that these operations can reach, each visited once whatever the cycles. */
  reachable(operations: Iterable<ApiOperation>, direction: Direction): ReadonlySet<string>;
  /** Every operation from which a component can be reached. */
  users(name: string): ReadonlySet<ApiOperation>;
}

/** Looks at every schema of a document once. Nothing here grows with the square of the document. */
export function indexUsage(api: Api): Usage {
  const edges = new Map<string, ReadonlySet<string>>();
  const holders = new Map<string, string[]>();
  for (const name of api.schemas.names) {
    const below = namesUnder(api.schemas, api.schemas.named(name) ?? true);
    edges.set(name, below);
    for (const inner of below) push(holders, inner, name);
  }
  const direct = new Map<ApiOperation, Readonly<Record<Direction, ReadonlySet<string>>>>();
  const takers = new Map<string, ApiOperation[]>();
  const note = (operation: ApiOperation, request: readonly JsonValue[], answer: readonly JsonValue[]): void => {
    const found = { request: new Set<string>(), answer: new Set<string>() };
    collect(api.schemas, request, found.request);
    collect(api.schemas, answer, found.answer);
    direct.set(operation, found);
    for (const name of new Set([...found.request, ...found.answer])) push(takers, name, operation);
  };
  for (const operation of api.operations) {
    // What the provider calls travels the other way: its request is given to us, and our answer to it.
    const calls = [...operation.callbacks.values()];
    note(
      operation,
      [...requestSchemas(operation), ...calls.flatMap(answerSchemas)],
      [...answerSchemas(operation), ...calls.flatMap(requestSchemas)],
    );
  }
  for (const call of api.webhooks.values()) note(call, answerSchemas(call), requestSchemas(call));
  return {
    reachable(operations, direction) {
      const reached = new Set<string>();
      for (const operation of operations)
        for (const name of direct.get(operation)?.[direction] ?? []) reached.add(name);
      for (const name of reached) for (const inner of edges.get(name) ?? []) reached.add(inner);
      return reached;
    },
    users(name) {
      const above = new Set([name]);
      for (const inner of above) for (const holder of holders.get(inner) ?? []) above.add(holder);
      return new Set([...above].flatMap((holder) => takers.get(holder) ?? []));
    },
  };
}

function push<Value>(map: Map<string, Value[]>, key: string, value: Value): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

function requestSchemas(operation: ApiOperation): readonly JsonValue[] {
  return [...operation.parameters.map(({ schema }) => schema), ...(operation.body?.media.values() ?? [])];
}

function answerSchemas(operation: ApiOperation): readonly JsonValue[] {
  return [...operation.answers.values()].flatMap(({ media, headers }) => [
    ...media.values(),
    ...[...headers.values()].map(({ schema }) => schema),
  ]);
}

export function childrenOf(shape: SchemaShape): readonly JsonValue[] {
  const children: JsonValue[] = [...shape.properties.values()].map(({ schema }) => schema);
  if (shape.items !== undefined) children.push(shape.items);
  if (typeof shape.additional === "object") children.push(shape.additional);
  return [...children, ...shape.choices];
}

function namesUnder(schemas: Schemas, root: JsonValue): ReadonlySet<string> {
  const names = new Set<string>();
  const shape = schemas.shapeOf(root);
  ownersOf(shape, names);
  collect(schemas, childrenOf(shape), names);
  return names;
}

/** Stops at named components: their own content is looked at once, under their own name. */
function collect(schemas: Schemas, roots: readonly JsonValue[], names: Set<string>): void {
  const waiting = [...roots];
  const seen = new Set<SchemaShape>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const shape = schemas.shapeOf(next);
    if (seen.has(shape)) continue;
    seen.add(shape);
    ownersOf(shape, names);
    if (shape.name !== null) names.add(shape.name);
    else for (const child of childrenOf(shape)) waiting.push(child);
  }
}

/** Components folded in by `allOf` count as reached. */
function ownersOf(shape: SchemaShape, names: Set<string>): void {
  for (const { owner } of shape.properties.values()) if (owner !== null) names.add(owner);
}
