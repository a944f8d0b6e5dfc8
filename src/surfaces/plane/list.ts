import { compileSchema, type JsonSchema } from "../../../packages/request/src/schema.ts";
import type { ActionDefinition } from "../../conventions/action/pack.ts";
import type { ListAsk } from "../../gateway/discovery/start.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";

/** What an agent may say about a list beside its arguments: less than the definition reads, or on from where a call stopped. */
export const listInput = {
  type: "object",
  properties: {
    continue: { type: "string", minLength: 1, maxLength: 64, description: "discovery.continue of an earlier result" },
    page_size: { type: "integer", minimum: 1, maximum: 1000 },
    max_pages: { type: "integer", minimum: 1, maximum: 1000 },
    max_records: { type: "integer", minimum: 1, maximum: 100_000 },
  },
} as const satisfies JsonSchema;

const check = compileSchema(listInput);

/** A tool has one object of arguments: `list` in it is ours, unless the action has an input of that name. */
export function toolSchema(action: ActionDefinition): JsonSchema {
  if (!takesList(action)) return action.schema;
  const { schema } = action;
  return { ...schema, properties: { ...("properties" in schema ? schema.properties : {}), list: listInput } };
}

export function splitList(
  action: ActionDefinition,
  { list, ...input }: JsonObject,
): { readonly input: JsonObject; readonly list?: ListAsk } {
  if (!takesList(action)) return { input: list === undefined ? input : { ...input, list } };
  if (list === undefined) return { input };
  const errors = check(list);
  if (errors.length > 0) throw new Denied("schema_violation", "list does not fit its schema.", { errors });
  return { input, list: list as ListAsk };
}

function takesList({ pages, inputs }: ActionDefinition): boolean {
  return pages !== null && inputs.every(({ name }) => name !== "list");
}
