import type { TransportObservation } from "../../../../conventions/outcome/observation.ts";
import type { HttpSend, IntentReceipt, LentCredential, SendLimits } from "../../../../gateway/ports.ts";
import { Secret } from "../../../../kernel/secret.ts";
import { createHttpTransport, type HttpTransportOptions } from "../transport.ts";

/** What a test says about one send; the rest is filled in. For tests only. */
export interface Rehearsal extends Partial<Omit<HttpSend, "url">> {
  readonly url: string;
  readonly token?: string;
  readonly credential?: LentCredential;
  readonly timeoutMs?: number;
  readonly responseBytes?: number;
  readonly signal?: AbortSignal;
  readonly sink?: SendLimits["sink"];
}

export const TOKEN = "tok_9f27c1e0b3a84d56";

export function lend(token: string, headerName = "authorization"): LentCredential {
  return {
    label: "acme",
    headerName,
    headerValue: Secret.fromText(`Bearer ${token}`),
    secrets: [Secret.fromText(token)],
  };
}

export function rehearse(options: HttpTransportOptions = {}) {
  const transport = createHttpTransport(options);
  const send = (rehearsal: Rehearsal): Promise<TransportObservation> => {
    const { token, credential, timeoutMs, responseBytes, signal, sink, ...request } = rehearsal;
    const limits: SendLimits = {
      timeoutMs: timeoutMs ?? 5_000,
      responseBytes: responseBytes ?? 65_536,
      signal: signal ?? new AbortController().signal,
      sink,
    };
    const lent = credential ?? (token === undefined ? null : lend(token));
    return transport.send(
      RECEIPT,
      {
        kind: "http",
        method: "GET",
        headers: {},
        body: null,
        network: "private",
        ca: null,
        echo: "withhold",
        ...request,
      },
      lent,
      limits,
    );
  };
  return { send, [Symbol.dispose]: () => transport.close() };
}

/** The transport only asks that there is one; nothing here writes a log. */
const RECEIPT = { frame: 1n, at: 0 } as unknown as IntentReceipt;
