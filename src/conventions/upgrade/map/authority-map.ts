import { type AgentScope, indexScopes } from "../compare/agent-scope.ts";
import { classifyApi } from "../meaning/classify-api.ts";
import type { MeantEffect } from "../meaning/effect.ts";
import { type Api, type ApiOperation, describeSecurity } from "../model/api.ts";

/** One request family: who may do what to what, and what a refusal looks like. Field names are the specification's. */
export interface AuthorityRow {
  readonly operation: string;
  readonly effect: MeantEffect;
  readonly actions: readonly string[];
  readonly resource_boundary: string;
  /** A label, never a secret. */
  readonly credential_label: string;
  readonly authorization_condition: string;
  readonly default_behaviour: string;
  readonly denial_expectation: string;
}

export interface AuthorityMap {
  readonly format: "gw.authority-map/v1";
  readonly api: string;
  readonly version: string;
  readonly rows: readonly AuthorityRow[];
}

/** Generated from document and pack; kept as a reviewed file, and compared with the next version's. */
export function buildAuthorityMap(api: Api, pack: readonly AgentScope[] = []): AuthorityMap {
  const scopes = indexScopes(api, pack);
  const effects = classifyApi(api);
  const labels = new Map(pack.map(({ action, credential }) => [action, credential]));
  const rows = api.operations.map((operation): AuthorityRow => {
    const actions = scopes.using(operation);
    const used = [...new Set(actions.map((action) => labels.get(action) ?? "none"))].sort();
    return {
      operation: operation.key,
      effect: effects.get(operation)?.effect ?? "write",
      actions,
      resource_boundary: boundaryOf(operation),
      credential_label: used.join(", ") || "not used by the pack",
      authorization_condition: conditionOf(operation),
      default_behaviour: defaultsOf(api, operation),
      denial_expectation: denialOf(operation),
    };
  });
  return { format: "gw.authority-map/v1", api: api.title, version: api.version, rows };
}

/** The path's own parameters draw the line; without any, whatever the credential can see is inside it. */
function boundaryOf(operation: ApiOperation): string {
  const names = [...operation.path.matchAll(/\{([^{}]*)\}/g)].map(([, name]) => name);
  return names.length === 0 ? "everything the credential can see" : `one ${names.join(", ")}`;
}

function conditionOf(operation: ApiOperation): string {
  const roles = operation.roles.length === 0 ? "" : `; the text asks for ${operation.roles.join(", ")}`;
  return `${describeSecurity(operation)}${roles}`;
}

function defaultsOf(api: Api, operation: ApiOperation): string {
  const optional = operation.parameters.filter(({ required }) => !required);
  const said = optional.map(({ name, in: place, schema }) => {
    const fallback = api.schemas.shapeOf(schema).fallback;
    return `${place} ${name}: ${fallback ?? "the provider decides"}`;
  });
  return said.join("; ") || "nothing is optional";
}

function denialOf(operation: ApiOperation): string {
  const listed = ["401", "403", "404"].filter((status) => operation.answers.has(status));
  if (listed.length > 0) return listed.join(", ");
  return operation.answers.has("default") ? "default, no status named" : "none documented";
}
