import { type EffectVerdict, harmless } from "../meaning/effect.ts";
import type { Api, Operation } from "../model/api.ts";
import { type Reach, visitSchemas } from "../model/visit.ts";
import { compareSchemas } from "./compare-shape.ts";
import type { Draft } from "./difference.ts";
import type { Match } from "./match-operations.ts";
import { createContext, type ShapeContext } from "./shape-context.ts";

/** A component is compared once, for all operations that reach it, in the directions in which they do. */
export function compareComponents(
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
      ...createContext(before, after, `schema ${name}`, acting ? "write" : "read", (draft) =>
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
