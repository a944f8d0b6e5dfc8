import { appendPointer } from "../../../packages/request/src/pointer.ts";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Findings } from "./findings.ts";
import type { ActionDefinition, HttpAction, InputField } from "./pack.ts";

/**
 * A request that a tool writes must be one action or none: two that could both say it are an error, unless one of them
 * says by a constant what the other takes as an input. A pack that was trusted before still serves typed calls, which name
 * their action, and a tool's request is refused there.
 */
export function lintOverlap(actions: ReadonlyMap<string, ActionDefinition>, findings: Findings): void {
  const known: HttpAction[] = [];
  for (const action of actions.values()) {
    // A plan is carried out by what the gateway fills in, which no tool can write.
    if (action.kind !== "http" || action.plan !== null || action.rollback !== null) continue;
    const other = known.find((one) => sameRoute(one, action) && !areApart(one, action) && !areApart(action, one));
    if (other !== undefined) {
      findings.error(
        "pack_actions_overlap",
        appendPointer("/actions", action.name),
        `"${other.name}" can send the same request, so that a tool in a box can send neither; give one of them a constant or a required input that the other has not`,
      );
    }
    known.push(action);
  }
}

function sameRoute(a: HttpAction, b: HttpAction): boolean {
  if (a.method !== b.method || a.accept !== b.accept || constants(a) !== constants(b)) return false;
  return shapeOf(a) === shapeOf(b) && pathsMeet(a, b);
}

function shapeOf({ template }: HttpAction): string {
  const segments = template.segments.map((one) =>
    one.kind === "literal" ? one.text : one.rest === true ? "{+}" : "{}",
  );
  return `/${segments.join("/")}${template.trailingSlash ? "/" : ""}`;
}

function constants({ inputs }: HttpAction): number {
  return inputs.filter(({ constant }) => constant !== undefined).length;
}

function pathsMeet(a: HttpAction, b: HttpAction): boolean {
  return a.template.parameters.every((name, index) => {
    const other = fieldOf(b, "path", b.template.parameters[index] ?? "");
    const own = fieldOf(a, "path", name);
    return own === undefined || other === undefined || !areDisjoint(own.schema, other.schema);
  });
}

/** Whether something that the first always says is nothing that the second can say. */
function areApart(a: HttpAction, b: HttpAction): boolean {
  if (a.body !== b.body && !(canBeEmpty(a) && canBeEmpty(b))) return true;
  return a.inputs.some((field) => {
    if (field.place !== "query" && field.place !== "body") return false;
    const other = fieldOf(b, field.place, field.wireName);
    if (other !== undefined) return !field.optional && areDisjoint(field.schema, other.schema);
    return !field.optional && !(field.place === "query" && isIgnored(b, field.wireName));
  });
}

function canBeEmpty({ body, emptyBody }: HttpAction): boolean {
  return body === null || body === "opaque" || emptyBody;
}

function isIgnored({ tolerates, pages }: HttpAction, name: string): boolean {
  return tolerates.includes(name) || pages?.cursorParam === name || pages?.sizeParam === name;
}

function fieldOf({ inputs }: HttpAction, place: InputField["place"], wireName: string): InputField | undefined {
  return inputs.find((field) => field.place === place && field.wireName === wireName);
}

function areDisjoint(a: JsonSchema, b: JsonSchema): boolean {
  const ours = closedValues(a);
  const theirs = closedValues(b);
  return ours !== null && theirs !== null && !ours.some((value) => theirs.includes(value));
}

function closedValues({ const: only, enum: listed }: JsonSchema): readonly unknown[] | null {
  return only === undefined ? (listed ?? null) : [only];
}
