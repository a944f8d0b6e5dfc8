import { digestCard } from "../../../conventions/approval/card.ts";
import { renderCard } from "../../../conventions/approval/render.ts";
import { compileSchema, type JsonSchema } from "../../../conventions/request/schema.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { SeenHead } from "../../client/draft-decision.ts";
import type { ApprovalView } from "../../client/reading.ts";

const text = { type: "string", maxLength: 4_000 } as const;
const textOrNull = { type: ["string", "null"], maxLength: 4_000 } as const;
const open = (required: Readonly<Record<string, JsonSchema>>, nullable = false): JsonSchema => ({
  type: nullable ? ["object", "null"] : "object",
  properties: required,
  required: Object.keys(required),
  additionalProperties: true,
});

const check = compileSchema({
  type: "object",
  properties: {
    approval: {
      type: "object",
      properties: {
        approval_id: text,
        state: { const: "pending" },
        run_id: text,
        call_id: textOrNull,
        mode: text,
        action: textOrNull,
        created_at: textOrNull,
        expires_at: textOrNull,
        expires_in_ms: { type: "integer", minimum: 0 },
        decided_by: textOrNull,
        reason: textOrNull,
        card_digest: text,
        given: {
          type: "array",
          maxItems: 2,
          items: open({ operator: text, decided_at: text }),
        },
        card: open({
          format: { const: "gw.card/v1" },
          approval_id: text,
          asks: { enum: ["session", "call", "session_and_call", "redirect", "access", "custody"] },
          created_at: text,
          expires_at: { type: "string", format: "date-time" },
          authority: text,
          mode: { enum: ["guard-rail", "dedicated"] },
          caller: open({}),
          context: open({}),
          run: open({ run_id: text, purpose_claimed: text, budget: open({}), deadline_at: text }),
          scope: open({}, true),
          call: open({ call_id: text, action: text, effect: text, target: text, arguments: open({}) }, true),
          notes: { type: "array", items: text },
          if_unanswered: text,
        }),
      },
      required: ["approval_id", "state", "run_id", "card_digest", "given", "card"],
    },
    log: {
      type: "object",
      properties: { frame: { type: "integer", minimum: 0 }, link: { type: "string", pattern: "^[0-9a-f]{64}$" } },
      required: ["frame", "link"],
    },
  },
  required: ["approval", "log"],
});

/**
 * What a gateway sealed, as a question that can be shown. Undefined for anything else: the gateway may be owned by somebody who would
 * rather that nobody sees what the others ask.
 */
export function readCard(
  content: JsonObject,
  approvalId: string,
): { readonly approval: ApprovalView; readonly log: SeenHead } | undefined {
  if (check(content).length > 0) return undefined;
  const { approval, log } = content as unknown as { readonly approval: ApprovalView; readonly log: SeenHead };
  const { card, card_digest, approval_id } = approval;
  if (approval_id !== approvalId || card.approval_id !== approvalId || digestCard(card) !== card_digest)
    return undefined;
  try {
    renderCard(card);
  } catch (error) {
    // A part deeper down that is not what a card holds there.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
  return { approval, log };
}
