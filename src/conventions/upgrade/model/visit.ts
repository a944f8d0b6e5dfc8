import type { JsonValue } from "../../../kernel/json.ts";
import type { Api, Operation } from "./api.ts";
import type { Schemas, Shape } from "./shape.ts";

export type Direction = "request" | "answer";

/** Component schemas that an operation can reach, by the direction in which their values travel. */
export interface Reach {
  readonly request: ReadonlySet<string>;
  readonly answer: ReadonlySet<string>;
}

/** Walks every schema that an operation uses, and answers which components each operation reaches. */
export function visitSchemas(api: Api): ReadonlyMap<Operation, Reach> {
  const direct = new Map<string, ReadonlySet<string>>();
  const closures = new Map<string, ReadonlySet<string>>();
  const directOf = (name: string): ReadonlySet<string> => {
    let found = direct.get(name);
    if (found === undefined) {
      found = namesUnder(api.schemas, api.schemas.named(name) ?? true);
      direct.set(name, found);
    }
    return found;
  };
  const closureOf = (names: ReadonlySet<string>): ReadonlySet<string> => {
    const reached = new Set(names);
    for (const name of reached) {
      const known = closures.get(name);
      for (const next of known ?? directOf(name)) reached.add(next);
    }
    return reached;
  };
  for (const name of api.schemas.names) closures.set(name, closureOf(new Set([name])));

  const reach = new Map<Operation, Reach>();
  for (const operation of api.operations) {
    const request = new Set<string>();
    const answer = new Set<string>();
    for (const schema of requestSchemas(operation)) collect(api.schemas, schema, request);
    for (const schema of answerSchemas(operation)) collect(api.schemas, schema, answer);
    reach.set(operation, { request: closureOf(request), answer: closureOf(answer) });
  }
  return reach;
}

export function requestSchemas(operation: Operation): readonly JsonValue[] {
  return [...operation.parameters.map(({ schema }) => schema), ...(operation.body?.media.values() ?? [])];
}

export function answerSchemas(operation: Operation): readonly JsonValue[] {
  return [...operation.answers.values()].flatMap(({ media, headers }) => [...media.values(), ...headers.values()]);
}

export function childrenOf(shape: Shape): readonly JsonValue[] {
  const children: JsonValue[] = [...shape.properties.values()].map(({ schema }) => schema);
  if (shape.items !== undefined) children.push(shape.items);
  if (typeof shape.additional === "object") children.push(shape.additional);
  return [...children, ...shape.choices];
}

function namesUnder(schemas: Schemas, root: JsonValue): ReadonlySet<string> {
  const names = new Set<string>();
  const shape = schemas.shapeOf(root);
  ownersOf(shape, names);
  for (const child of childrenOf(shape)) collect(schemas, child, names);
  return names;
}

/** Stops at named components: their own content is looked at once, under their own name. */
function collect(schemas: Schemas, schema: JsonValue, names: Set<string>): void {
  const waiting: JsonValue[] = [schema];
  const seen = new Set<JsonValue>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (seen.has(next)) continue;
    seen.add(next);
    const shape = schemas.shapeOf(next);
    ownersOf(shape, names);
    if (shape.name !== null) names.add(shape.name);
    else waiting.push(...childrenOf(shape));
  }
}

/** Components folded in by `allOf` count as reached. */
function ownersOf(shape: Shape, names: Set<string>): void {
  for (const { owner } of shape.properties.values()) if (owner !== null) names.add(owner);
}
