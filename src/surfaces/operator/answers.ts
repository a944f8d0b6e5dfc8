import type { JsonSchema } from "../../conventions/request/schema.ts";

/**
 * What the routes answer that an operator's client signs, or trusts with a key. The routes publish these, and the client reads by
 * them: it takes nothing else. Members that a later gateway adds are left alone.
 */
const text = (maxLength: number) => ({ type: "string", minLength: 1, maxLength }) as const;
const hex = { type: "string", pattern: "^([0-9a-f]{2}){0,64}$", maxLength: 128 } as const;
const frame = { type: "integer", minimum: 0 } as const;

function members<const Properties extends Readonly<Record<string, JsonSchema>>>(properties: Properties) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties) as readonly string[] as readonly (keyof Properties & string)[],
    additionalProperties: true,
  } as const;
}

export const challengeAnswer = members({ challenge: text(200), vault_id: text(200) });
export const tokenAnswer = members({ token: text(4_096) });
export const proofAnswer = members({ proof: { type: ["string", "null"], maxLength: 4_096 } });
export const hostKeysAnswer = members({ identity_key: text(200), lending_key: text(200) });
export const adoptionAnswer = members({ operations: { type: "integer", minimum: 0 } });
export const waitingKeyAnswer = members({ signing_key: text(200), reading_key: text(200) });
export const headAnswer = members({
  log: members({ frame: { type: ["integer", "string"], maxLength: 20 }, link: text(200) }),
});
export const offerAnswer = members({
  log_id: hex,
  open_frame: frame,
  open_link: hex,
  head_frame: frame,
  head_link: hex,
  before_frame: frame,
  before_link: hex,
  unclean: { type: "boolean" },
});
export const revokedAnswer = members({ revoked: { type: "boolean" } });
export const suspendedAnswer = members({ suspended: { type: "array", items: text(200) } });
export const probeAnswer = members({ run_id: text(200) });
