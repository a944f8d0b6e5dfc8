import { count, flag, object, text } from "../../../packages/request/src/shape.ts";

/** What the program behind `gw login` answers to our other programs. */
export const loginAnswer = object({
  operator: text,
  operator_key_id: text,
  vault_id: text,
  has_pin: flag,
  left_ms: count,
});
export const signedLoginAnswer = object({
  statement: object({
    format: { const: "gw.login/v1" },
    vault_id: text,
    challenge: text,
    operator: text,
    operator_key_id: text,
    reads_only: { const: true },
  }),
  signature: text,
});
export const readingKeyAnswer = object({ key: text });
export const keysAnswer = object({ keys: text });
export const goneAnswer = object({});
