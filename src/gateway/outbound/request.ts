import type { BoundSsh } from "../../conventions/action/bind.ts";
import type { Pack } from "../../conventions/action/pack.ts";
import type { OutboundSsh } from "../../conventions/ssh/outbound.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { CallId } from "../../kernel/ids.ts";
import type { Core } from "../core.ts";
import type { OutboundHttp } from "../ports.ts";
import type { Definition, Outbound } from "./outbound.ts";

/** The bound command as it goes out, with the headers that are ours to add: correlation and, for writes, the token. */
export function httpRequestOf(
  core: Core,
  { bound, definition, sideEffect }: Outbound,
  callId: CallId,
  token: string | null = null,
): OutboundHttp {
  if (bound.kind === "ssh") return sshDescription(bound);
  const { pack, action } = definition;
  const headers: Record<string, string> = { ...bound.headers };
  const { provider } = pack;
  if (provider?.correlationHeader != null) headers[provider.correlationHeader.toLowerCase()] = callId;
  if (provider?.idempotency != null && sideEffect) {
    headers[provider.idempotency.header.toLowerCase()] = token ?? makeToken(core, pack);
  }
  return {
    method: bound.method,
    url: bound.url,
    headers,
    body: bound.body,
    network: provider?.network ?? "public",
    ca: provider?.ca ?? null,
    echo: action.echo,
    answerHeader: action.actualCost?.at.kind === "header" ? action.actualCost.at.name : undefined,
  };
}

/** An SSH operation in the words that records and cards share with HTTP; what is sent is `sshRequestOf`. */
function sshDescription({ user, host, port, operation, fields }: BoundSsh): OutboundHttp {
  return {
    method: "ssh",
    url: `ssh://${user}@${host}:${port}/${operation}`,
    headers: {},
    body: Buffer.from(canonicalJson(fields), "utf8"),
    network: "public",
    ca: null,
    echo: "withhold",
  };
}

/** The request that the receiver gets. Its identifier is the attempt's: a repeat is refused on the host. */
export function sshRequestOf(bound: BoundSsh, { action }: Definition, attemptId: string): OutboundSsh {
  const { host, port, user, hostKey, operation, fields } = bound;
  const recording = action.kind === "ssh" && action.recording ? "on" : "off";
  return { host, port, user, hostKey, action: operation, fields, requestId: attemptId, recording };
}

/** High in entropy, and never the same twice: what makes a repeat recognisable to the provider. A UUID unless it says otherwise. */
export function makeToken({ ports: { random } }: Core, { provider }: Pack): string {
  if (provider?.idempotency?.format === "opaque") return random.bytes(defaults.tokenBytes).toString("base64url");
  const bytes = random.bytes(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The token that goes with a request, where its provider takes one. */
export function tokenOf({ headers }: OutboundHttp, { provider }: Pack): string | null {
  const header = provider?.idempotency?.header.toLowerCase();
  return header === undefined ? null : (headers[header] ?? null);
}
