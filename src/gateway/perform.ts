import type { CallResult } from "../conventions/outcome/result.ts";
import type { JsonObject } from "../kernel/json.ts";
import { type Followed, follow, followThrough } from "./attempt/follow.ts";
import type { Sending } from "./attempt/sending.ts";
import type { Core } from "./core.ts";
import { discover } from "./discovery/discover.ts";
import type { ListStart } from "./discovery/start.ts";
import { createJob } from "./operation/begin-operation.ts";
import { cancelThrough } from "./operation/cancel.ts";
import { concludeEffect } from "./operation/conclude-effect.ts";
import { resumeThrough } from "./operation/resume.ts";
import { executeThrough } from "./plan/execute.ts";
import { previewThrough } from "./plan/preview.ts";
import type { Way } from "./prepare.ts";
import { isUndoable } from "./rollback/promotion.ts";
import { promoteThrough, rollBackThrough } from "./rollback/rollback.ts";

/** Steps 7 to 12 of an authorized call. A plain read goes straight through; everything else has an end to conclude. */
export function perform(core: Core, sending: Sending, way: Way): Promise<CallResult> {
  switch (way.kind) {
    case "plain":
      if (!sending.outbound.sideEffect) return read(core, sending, way.list);
      if (sending.outbound.definition.action.job !== null) return createJob(core, sending);
      return effect(core, sending, (one) => follow(core, one), sending.outbound.input);
    case "preview":
      return previewThrough(core, sending, way.executes);
    case "execute": {
      const { plan, expectedRevision } = way;
      return effect(core, sending, (one) => executeThrough(core, one, plan, expectedRevision), plan.input);
    }
    case "cancel":
      return cancelThrough(core, sending, way.operation, way.reason);
    case "resume":
      return resumeThrough(core, sending, way.operation, way.reason);
    case "rollback":
      return rollBackThrough(core, sending, way.deployment);
  }
}

/** What can be undone is kept on record, by whichever way it is done. */
async function effect(
  core: Core,
  sending: Sending,
  through: (sending: Sending) => Promise<Followed>,
  intent: JsonObject,
): Promise<CallResult> {
  if (isUndoable(sending.outbound.definition)) return promoteThrough(core, sending, through, intent);
  return concludeEffect(core, sending, await through(sending), intent);
}

function read(core: Core, sending: Sending, list: ListStart | undefined): Promise<CallResult> {
  return list === undefined ? followThrough(core, sending) : discover(core, sending, list);
}
