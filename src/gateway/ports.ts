import type { TransportObservation } from "../conventions/outcome/observation.ts";
import type { Brand } from "../kernel/brand.ts";
import type { Secret } from "../kernel/secret.ts";

/** Proof that an intent is durable in the log. Only the log mints it; a transport does not send without one. */
export type IntentReceipt = Brand<{ readonly frame: bigint; readonly at: number }, "IntentReceipt">;

/** A credential on loan for one send, already checked against the origin it is bound to. */
export interface LentCredential {
  readonly label: string;
  readonly headerName: string;
  readonly headerValue: Secret;
  /** Every secret that must not come back in the response, such as the token inside the header value. */
  readonly secrets: readonly Secret[];
}

/** One HTTP exchange: redirects are answers, and the gateway decides about them. */
export interface OutboundHttp {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | null;
  /** `private` only where the pack's own origin names such an address. */
  readonly network: "public" | "private";
  readonly ca: string | null;
  readonly echo: "withhold" | "redact";
}

export interface SendLimits {
  /** The smaller of the action's own cap and the run's time left. */
  readonly timeoutMs: number;
  readonly responseBytes: number;
  readonly signal: AbortSignal;
}

export interface HttpTransport {
  send(
    receipt: IntentReceipt,
    request: OutboundHttp,
    credential: LentCredential | null,
    limits: SendLimits,
  ): Promise<TransportObservation>;
}
