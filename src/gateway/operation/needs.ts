import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { AttemptNeeds } from "../attempt/needs.ts";
import type { Definition } from "../outbound/outbound.ts";
import type { StateRow } from "../ports.ts";
import type { Effects } from "./effects.ts";
import type { Operation, OperationBook } from "./operations.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface OperationNeeds extends AttemptNeeds {
  /** Names this process among the gateways on one store. */
  readonly worker: string;
  readonly operations: OperationBook;
  readonly effects: Effects;
  /** Tells the observer that an operation has a read due; it does nothing before the observer runs. */
  schedule(operation: Operation): void;
  /** Whether a callback about its job came before the job had a name; it is told once. */
  cameEarly(operation: Operation): boolean;
  /** Keeps what an answer proves of a promotion, where a rollback could undo it. */
  keepPromotion(
    definition: Definition,
    made: { readonly runId: string; readonly party: string; readonly intent: JsonObject },
    answer: JsonValue,
  ): readonly StateRow[];
}
