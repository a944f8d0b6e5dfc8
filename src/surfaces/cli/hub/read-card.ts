import { compileSchema } from "../../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../../packages/request/src/schema-type.ts";
import { count, object } from "../../../../packages/request/src/shape.ts";
import { digestCard } from "../../../conventions/approval/card.ts";
import { renderCard } from "../../../conventions/approval/render.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { SeenHead } from "../../client/draft-decision.ts";
import { type ApprovalView, shownApproval } from "../../operator/answers.ts";

const sealed = object({
  approval: shownApproval,
  log: object({ frame: count, link: { type: "string", pattern: "^[0-9a-f]{64}$" } }),
});
const check = compileSchema(sealed);

/**
 * What a gateway sealed, as a question that can be shown. Undefined for anything else: the gateway may be owned by somebody who would
 * rather that nobody sees what the others ask.
 */
export function readCard(
  content: JsonObject,
  approvalId: string,
): { readonly approval: ApprovalView; readonly log: SeenHead } | undefined {
  if (check(content).length > 0) return undefined;
  const { approval, log } = content as unknown as FromSchema<typeof sealed>;
  if (approval.state !== "pending") return undefined;
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
