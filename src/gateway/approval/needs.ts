import type { Posture } from "../posture.ts";
import type { Run } from "../run/run.ts";
import type { Accept } from "./question.ts";

/** What this room needs of the gateway, and nothing else of it. */
export interface ApprovalNeeds {
  /** Takes the work context that a person may assign while letting the run begin. */
  acceptTicket(run: Run): Accept;
  posture(): Posture;
}
