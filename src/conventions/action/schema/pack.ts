import type { JsonSchema } from "../../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../../packages/request/src/schema-type.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { actionSchema } from "./action.ts";
import type { fieldMembers } from "./input.ts";
import { providerSchema } from "./provider.ts";

export const PACK_FORMAT = "gw.pack/v1";

/** The shape of a pack file: what the reader holds it against is what editors get as packs/pack.schema.json. */
export const packSchema = {
  type: "object",
  additionalProperties: false,
  required: ["format", "pack", "actions"],
  properties: {
    format: { const: PACK_FORMAT },
    pack: {
      type: "string",
      pattern: "^[a-z][a-z0-9-]{0,31}$",
      description: "The pack's name; actions are called PACK.ACTION.",
    },
    description: { type: "string", maxLength: 1000 },
    provider: providerSchema,
    actions: { type: "object", maxProperties: defaults.packActions, additionalProperties: actionSchema },
  },
} as const satisfies JsonSchema;

export type ProviderWire = FromSchema<typeof providerSchema>;
export type ActionWire = FromSchema<typeof actionSchema>;
export type FieldWire = { readonly [Name in keyof typeof fieldMembers]?: FromSchema<(typeof fieldMembers)[Name]> };

/** The file that editors use: our subset is plain JSON Schema, so that only the dialect and the name are added. */
export function publishedSchema(): string {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "gw action pack" };
  return `${JSON.stringify({ ...head, ...packSchema }, null, 2)}\n`;
}
