import { writeToken } from "../../../../packages/request/src/pointer.ts";
import { type EffectVerdict, harmless } from "../meaning/effect.ts";
import type { Api, ApiOperation } from "../model/api.ts";
import { type Direction, indexUsage } from "../model/visit.ts";
import { compareSchemas } from "./compare-shape.ts";
import type { Draft } from "./difference.ts";
import type { Match } from "./match-operations.ts";
import { createContext, type ShapeContext } from "./shape-context.ts";

/** A component is compared once, for all operations that reach it, in the directions in which they do. */
export function compareComponents(
  before: Api,
  after: Api,
  pairs: readonly Match[],
  effects: ReadonlyMap<ApiOperation, EffectVerdict>,
  add: (draft: Draft) => void,
): void {
  const [old, next] = [indexUsage(before), indexUsage(after)];
  const reached = (matches: readonly Match[], direction: Direction): ReadonlySet<string> =>
    new Set([
      ...old.reachable(
        matches.map((match) => match.before),
        direction,
      ),
      ...next.reachable(
        matches.map((match) => match.after),
        direction,
      ),
    ]);
  const sent = reached(pairs, "request");
  const answered = reached(pairs, "answer");
  const acting = reached(
    pairs.filter((match) => !harmless(effects.get(match.after)?.effect ?? "write")),
    "request",
  );
  const keyOf = new Map(
    pairs.flatMap(
      (match) =>
        [
          [match.before, match.after.key],
          [match.after, match.after.key],
        ] as const,
    ),
  );
  const usersOf = (name: string): readonly string[] => {
    const keys = [...old.users(name), ...next.users(name)].flatMap((operation) => keyOf.get(operation) ?? []);
    return [...new Set(keys)].sort();
  };
  for (const name of [...new Set([...sent, ...answered])].sort()) {
    if (before.schemas.named(name) === undefined || after.schemas.named(name) === undefined) continue;
    // Most components did not change: who uses one is asked only when it did.
    let operations: readonly string[] | undefined;
    const context: ShapeContext = {
      ...createContext(before, after, `schema ${name}`, acting.has(name) ? "write" : "read", (draft) => {
        operations ??= usersOf(name);
        add({ ...draft, operations });
      }),
      component: name,
      inRequest: sent.has(name),
      inAnswer: answered.has(name),
    };
    compareSchemas(context, { $ref: refTo(before, name) }, { $ref: refTo(after, name) }, { at: "", name: "" });
  }
}

function refTo(api: Api, name: string): string {
  const escaped = encodeURIComponent(writeToken(name));
  return api.dialect === "swagger-2.0" ? `#/definitions/${escaped}` : `#/components/schemas/${escaped}`;
}
