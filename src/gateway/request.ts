import type { Pack } from "../conventions/action/pack.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import type { CallId } from "../kernel/ids.ts";
import type { Core } from "./core.ts";
import type { Outbound } from "./outbound.ts";
import type { OutboundHttp } from "./ports.ts";

/** The bound command as it goes out, with the headers that are ours to add: correlation and, for writes, the token. */
export function httpRequestOf(
  core: Core,
  { bound, definition, sideEffect }: Outbound,
  callId: CallId,
  token: string | null = null,
): OutboundHttp {
  if (bound.kind === "ssh") throw new Denied("action_not_permitted", "This gateway has no SSH transport.");
  const { pack, action } = definition;
  const headers: Record<string, string> = { ...bound.headers };
  const { provider } = pack;
  if (provider?.correlationHeader != null) headers[provider.correlationHeader.toLowerCase()] = callId;
  if (provider?.idempotency != null && sideEffect) {
    headers[provider.idempotency.header.toLowerCase()] = token ?? makeToken(core);
  }
  return {
    method: bound.method,
    url: bound.url,
    headers,
    body: bound.body,
    network: provider?.network ?? "public",
    ca: provider?.ca ?? null,
    echo: action.echo,
  };
}

/** High in entropy, and never the same twice: what makes a repeat recognisable to the provider. */
export function makeToken({ ports: { random } }: Core): string {
  return random.bytes(defaults.tokenBytes).toString("base64url");
}

/** The token that goes with a request, where its provider takes one. */
export function tokenOf({ headers }: OutboundHttp, { provider }: Pack): string | null {
  const header = provider?.idempotency?.header.toLowerCase();
  return header === undefined ? null : (headers[header] ?? null);
}
