import type { CallResult } from "../conventions/outcome/result.ts";
import { follow, followThrough } from "./attempt/follow.ts";
import type { Sending } from "./attempt/sending.ts";
import type { Core } from "./core.ts";
import { discover } from "./discovery/discover.ts";
import type { ListStart } from "./discovery/start.ts";
import { cancelThrough } from "./operation/cancel.ts";
import { concludeEffect } from "./operation/conclude.ts";
import { resumeThrough } from "./operation/resume.ts";
import { createJob } from "./operation/track.ts";
import { executeThrough } from "./plan/execute.ts";
import { previewThrough } from "./plan/preview.ts";
import type { Way } from "./prepare.ts";
import { isUndoable } from "./rollback/promotion.ts";
import { promoteThrough, rollBackThrough } from "./rollback/rollback.ts";

/** Steps 7 to 12 of an authorized call. A plain read goes straight through; everything else has an end to conclude. */
export async function perform(core: Core, sending: Sending, way: Way): Promise<CallResult> {
  switch (way.kind) {
    case "plain":
      if (!sending.outbound.sideEffect) return read(core, sending, way.list);
      if (sending.outbound.definition.action.job !== null) return createJob(core, sending);
      if (isUndoable(sending.outbound.definition)) return promoteThrough(core, sending);
      return concludeEffect(core, sending, await follow(core, sending), sending.outbound.input);
    case "preview":
      return previewThrough(core, sending, way.executes);
    case "execute": {
      const { plan, expectedRevision } = way;
      const followed = await executeThrough(core, sending, plan, expectedRevision);
      return concludeEffect(core, sending, followed, plan.input);
    }
    case "cancel":
      return cancelThrough(core, sending, way.operation, way.reason);
    case "resume":
      return resumeThrough(core, sending, way.operation, way.reason);
    case "rollback":
      return rollBackThrough(core, sending, way.deployment);
  }
}

function read(core: Core, sending: Sending, list: ListStart | undefined): Promise<CallResult> {
  return list === undefined ? followThrough(core, sending) : discover(core, sending, list);
}
