import type { Pack } from "../../action/pack.ts";
import type { AgentScope } from "./agent-scope.ts";

/** The HTTP actions of a pack as a review sees them. A URL action names no route and an SSH action no API. */
export function scopesOfPack(pack: Pack): readonly AgentScope[] {
  return [...pack.actions.values()].flatMap((action) => {
    if (action.kind !== "http") return [];
    const { qualifiedName, method, template, effect } = action;
    return [
      { action: qualifiedName, method, path: template.text, credential: pack.provider?.credential ?? null, effect },
    ];
  });
}
