import type { CallResult } from "../../conventions/outcome/result.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { confirmSuccess } from "../attempt/confirm.ts";
import type { Followed } from "../attempt/follow.ts";
import type { Sending } from "../attempt/sending.ts";
import { trackUnknown } from "./begin-operation.ts";
import type { OperationNeeds } from "./needs.ts";

/** What a side effect still needs after its last attempt: the read that confirms it, or a record of not knowing. */
export async function concludeEffect(
  core: OperationNeeds,
  sending: Sending,
  followed: Followed,
  intent: JsonObject,
): Promise<CallResult> {
  const { result } = followed;
  if (result.outcome === "unknown") return trackUnknown(core, sending, followed, intent);
  return { ...result, confirmed: await confirmSuccess(core, sending, followed, intent) };
}
