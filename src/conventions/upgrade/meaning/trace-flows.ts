import type { Api, ApiOperation } from "../model/api.ts";
import { answerFields, bodyFields } from "./list-fields.ts";
import { qualifiedName, type Steering, steeringOf } from "./steering.ts";

/** A value that one operation hands out and others take: with it an agent can go where it could not name before. */
export interface Flow {
  readonly field: string;
  readonly steering: Exclude<Steering, "none">;
  readonly takenBy: readonly string[];
  /** How many take it; `takenBy` names the first few. */
  readonly total: number;
}

const SHOWN = 6;

/** Where every steering input of an API can go, by the qualified name of what it takes. */
export type Takers = ReadonlyMap<string, ReadonlySet<string>>;

export function indexTakers(api: Api): Takers {
  const takers = new Map<string, Set<string>>();
  for (const operation of api.operations) {
    for (const name of inputsOf(api, operation)) {
      const known = takers.get(name) ?? new Set();
      known.add(operation.key);
      takers.set(name, known);
    }
  }
  return takers;
}

export function traceFlows(api: Api, operation: ApiOperation, takers: Takers): readonly Flow[] {
  const own = inputsOf(api, operation);
  const flows = new Map<string, Flow>();
  for (const field of answerFields(api.schemas, operation)) {
    if (field.steering === "none" || field.steering === "cursor" || field.steering === "role") continue;
    const name = qualifiedName(field.name, field.holder);
    // What the caller had to know already, it does not learn.
    if (own.has(name) || flows.has(name)) continue;
    const taken = [...(takers.get(name) ?? [])].filter((key) => key !== operation.key).sort();
    if (taken.length === 0 && field.steering === "identifier") continue;
    flows.set(name, {
      field: field.path,
      steering: field.steering,
      takenBy: taken.slice(0, SHOWN),
      total: taken.length,
    });
  }
  return [...flows.values()].sort((a, b) => b.total - a.total || (a.field < b.field ? -1 : 1));
}

function inputsOf(api: Api, operation: ApiOperation): ReadonlySet<string> {
  const names = new Set<string>();
  const segments = operation.path.split("/");
  for (const parameter of operation.parameters) {
    const place = segments.findIndex((segment) => segment.includes(`{${parameter.name}}`));
    const holder = place > 0 ? (segments[place - 1] ?? "") : "";
    const steering = steeringOf(parameter.name, api.schemas.shapeOf(parameter.schema));
    if (parameter.in === "path" || steering !== "none") names.add(qualifiedName(parameter.name, holder));
  }
  for (const field of bodyFields(api.schemas, operation)) {
    if (field.steering === "identifier" || field.steering === "url" || field.steering === "token") {
      names.add(qualifiedName(field.name, field.holder));
    }
  }
  return names;
}
