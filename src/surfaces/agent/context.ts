import type { LiveCaller } from "../../gateway/ports.ts";
import type { Tellable } from "../plane/record-request.ts";

/** Who is behind an agent connection, as the operating system says, and how long it is ready to wait for a person. */
export interface AgentContext extends Tellable {
  /** As request records name the caller. */
  readonly name: string;
  readonly caller: LiveCaller;
  readonly waitMs: number;
  /** Of the reply; empty where there is no request. */
  readonly correlationId: string;
  /** The trace it says its request belongs to: a claim, for the record alone. */
  readonly traceparent: string | null;
  /** Hears when the answer was sent, or whoever asked is gone before that. */
  readonly onGone: (hear: () => void) => void;
  /** Ended where whoever asked does not read what it asked for. */
  readonly connection: { destroy(): unknown; readonly sentBytes?: number };
}
