import type { JsonValue } from "../../../kernel/json.ts";
import type { ApiOperation } from "../model/api.ts";
import type { SchemaShape, Schemas } from "../model/shape.ts";
import { type Steering, steeringOf } from "./steering.ts";

export interface Field {
  readonly path: string;
  readonly name: string;
  /** The component or member that holds the field: says of what an `id` is one. */
  readonly holder: string;
  readonly steering: Steering;
}

const DEPTH = 5;
const FIELDS = 400;

/** The fields of a schema near its root, breadth first. A component is entered once; far corners are left out. */
export function listFields(
  schemas: Schemas,
  schema: JsonValue | undefined,
  holder: string,
  deepest = DEPTH,
  /** Answers hold nothing that can only be written, and bodies take nothing that can only be read. */
  way: "answer" | "body" = "body",
): readonly Field[] {
  const fields: Field[] = [];
  const entered = new Set<string | SchemaShape>();
  let level: { readonly schema: JsonValue | undefined; readonly path: string; readonly holder: string }[] = [
    { schema, path: "", holder },
  ];
  for (let depth = 0; depth < deepest && level.length > 0; depth++) {
    const next: typeof level = [];
    for (const entry of level) {
      const shape = schemas.shapeOf(entry.schema);
      if (entered.has(shape.name ?? shape)) continue;
      entered.add(shape.name ?? shape);
      const owner = shape.name ?? entry.holder;
      if (shape.items !== undefined) next.push({ schema: shape.items, path: `${entry.path}[]`, holder: owner });
      for (const choice of shape.choices) next.push({ schema: choice, path: entry.path, holder: owner });
      for (const [name, property] of shape.properties) {
        if (fields.length >= FIELDS) return fields;
        const held = schemas.shapeOf(property.schema);
        if (way === "answer" ? held.writeOnly : held.readOnly) continue;
        const path = entry.path === "" ? name : `${entry.path}.${name}`;
        fields.push({ path, name, holder: owner, steering: steeringOf(name, held) });
        next.push({ schema: property.schema, path, holder: name });
      }
    }
    level = next;
  }
  return fields;
}

/** The thing a path is about: `/sites/{site_id}/deploys` is about deploys. */
export function subjectOf(path: string): string {
  return path.split("/").findLast((segment) => segment !== "" && !segment.includes("{")) ?? "";
}

export function answerFields(schemas: Schemas, operation: ApiOperation, deepest = DEPTH): readonly Field[] {
  const bodies = [...operation.answers]
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, { media }]) => [...media.values()]);
  return [...new Set(bodies)].flatMap((schema) =>
    listFields(schemas, schema, subjectOf(operation.path), deepest, "answer"),
  );
}

export function bodyFields(schemas: Schemas, operation: ApiOperation, deepest = DEPTH): readonly Field[] {
  const bodies = [...new Set(operation.body?.media.values() ?? [])];
  return bodies.flatMap((schema) => listFields(schemas, schema, subjectOf(operation.path), deepest));
}

export function answersList(schemas: Schemas, operation: ApiOperation): boolean {
  const isList = (shape: SchemaShape): boolean => shape.items !== undefined || shape.types.includes("array");
  return [...operation.answers]
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, { media }]) => [...media.values()])
    .some((schema) => {
      const shape = schemas.shapeOf(schema);
      return (
        isList(shape) || [...shape.properties.values()].some((property) => isList(schemas.shapeOf(property.schema)))
      );
    });
}
