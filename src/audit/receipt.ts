import type { Brand } from "../kernel/brand.ts";

/** Proof that events are durable in the log. Only the log mints it; a transport does not send without one. */
export type IntentReceipt = Brand<
  {
    /** The frame that holds the events. */
    readonly frame: number;
    /** Wall time in milliseconds when the flush had returned. */
    readonly at: number;
    /** Every event in that frame: a receipt is good for an attempt whose intent is among them, and for no other. */
    readonly eventIds: readonly string[];
  },
  "IntentReceipt"
>;

/** A place in the log that a person can remember and compare later. `link` is hex. */
export interface Head {
  readonly segment: number;
  readonly frame: number;
  readonly link: string;
}
