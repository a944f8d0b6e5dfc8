import { createHash } from "node:crypto";
import type { BoundHttp } from "../../conventions/action/bind.ts";
import type { Pack } from "../../conventions/action/pack.ts";
import type { HttpSend, Send } from "../../conventions/action/send.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { CallId, RunId } from "../../kernel/ids.ts";
import type { OutboundNeeds } from "./needs.ts";
import type { Outbound } from "./outbound.ts";

/** The bound command as it goes out, with what is ours to add; `token` where it is sent once more under the one it had. */
export function sendOf(
  core: Pick<OutboundNeeds, "ports">,
  outbound: Outbound,
  callId: CallId,
  token: string | null = null,
): Send {
  const { bound } = outbound;
  switch (bound.kind) {
    case "http":
      return httpSendOf(core, outbound, bound, callId, token);
    case "ssh": {
      const { kind, host, port, user, hostKey, operation, fields, recording } = bound;
      return { kind, host, port, user, hostKey, operation, fields, recording };
    }
  }
}

/** With the headers that are ours to add: correlation and, for writes, the token. */
function httpSendOf(
  core: Pick<OutboundNeeds, "ports">,
  { definition: { pack, action }, sideEffect }: Outbound,
  { kind, method, url, headers: bare, body }: BoundHttp,
  callId: CallId,
  token: string | null,
): HttpSend {
  const headers: Record<string, string> = { ...bare };
  const { provider } = pack;
  if (provider?.correlationHeader != null) headers[provider.correlationHeader.toLowerCase()] = callId;
  if (provider?.idempotency != null && sideEffect) {
    headers[provider.idempotency.header.toLowerCase()] = token ?? makeToken(core, pack);
  }
  return {
    kind,
    method,
    url,
    headers,
    body,
    network: provider?.network ?? "public",
    ca: provider?.ca ?? null,
    echo: action.echo,
    answerHeader: action.actualCost?.at.kind === "header" ? action.actualCost.at.name : undefined,
  };
}

/** High in entropy, and never the same twice: what makes a repeat recognisable to the provider. A UUID unless it says otherwise. */
export function makeToken({ ports: { random } }: Pick<OutboundNeeds, "ports">, { provider }: Pack): string {
  const isOpaque = provider?.idempotency?.format === "opaque";
  return writeToken(random.bytes(isOpaque ? defaults.tokenBytes : UUID_BYTES), isOpaque);
}

/**
 * The token of a tool that named its request itself, and repeats it under that name when it hangs up too early: the provider
 * is to know the repeat again. Of this run and very request alone: no name reaches the token of anything else.
 */
export function tokenNamed({ definition, bound }: Outbound, runId: RunId, name: string): string | null {
  const { pack, action } = definition;
  if (pack.provider?.idempotency == null || action.job !== null) return null;
  const isOpaque = pack.provider.idempotency.format === "opaque";
  const hash = createHash("sha256")
    .update(canonicalJson(["gw token", runId, bound.requestDigest, name]))
    .digest();
  return writeToken(hash.subarray(0, isOpaque ? defaults.tokenBytes : UUID_BYTES), isOpaque);
}

const UUID_BYTES = 16;

function writeToken(bytes: Buffer, isOpaque: boolean): string {
  if (isOpaque) return bytes.toString("base64url");
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** The token that goes with a request, where its provider takes one. */
export function tokenOf(send: Send, { provider }: Pack): string | null {
  switch (send.kind) {
    case "http":
      return send.headers[provider?.idempotency?.header.toLowerCase() ?? ""] ?? null;
    case "ssh":
      return null;
  }
}
