import { Denied } from "../../kernel/failure.ts";
import { readSshPublicLine, writeSshPublicLine } from "../../kernel/ssh-key.ts";
import { troubleWithPrefix, type UrlAllowance } from "../url/admit.ts";
import { type PathTemplate, parseTemplate } from "../url/template.ts";
import type { Findings } from "./findings.ts";
import { type ActionDefinition, hasSideEffect, isByDigest, type Provider } from "./pack.ts";
import { readOriginAt } from "./read-provider.ts";
import { ROLLBACK_PATH } from "./rollback.ts";
import type { ActionWire } from "./schema/pack.ts";

export interface ActionContext {
  readonly pack: string;
  readonly name: string;
  readonly provider: Provider | null;
  /** The JSON Pointer of this action in the file. */
  readonly path: string;
  readonly findings: Findings;
}

type Channel<Kind> = Extract<ActionDefinition, { readonly kind: Kind }>;
type Parts<Kind> = Omit<Channel<Kind>, keyof Channel<"http"> & keyof Channel<"ssh">> & { readonly kind: Kind };

/** What only one kind of action has: how it is sent, and where. */
export type ChannelParts = Parts<"http"> | Parts<"url"> | Parts<"ssh">;

export function readChannel(wire: ActionWire, context: ActionContext): ChannelParts | null {
  const { findings, path } = context;
  const named = (["request", "full_url", "ssh"] as const).filter((member) => wire[member] !== undefined);
  if (named.length > 1) {
    findings.error(
      "pack_member_unfit",
      path,
      `expected one of request, full_url and ssh; found ${named.join(" and ")}`,
    );
    return null;
  }
  if (wire.response !== undefined) lintResponse(wire, context);
  if (wire.full_url !== undefined) return readFullUrl(wire.full_url, path, findings);
  if (wire.ssh !== undefined) return readSsh(wire.ssh, path, findings);
  const request =
    wire.request ??
    (wire.rollback === undefined
      ? undefined
      : ({ method: "POST", path: ROLLBACK_PATH, body: "application/json" } as const));
  if (request === undefined) {
    findings.error("missing_member", path, "expected request, full_url or ssh");
    return null;
  }
  if (context.provider === null && !findings.failedAround("/provider")) {
    findings.error("missing_member", path, "a request needs the pack's provider, with its origin");
  }
  const template = readTemplate(request.path, `${path}/request/path`, findings);
  if (template === null) return null;
  const { method, body = null, media_type: mediaType = null, gzip = false } = request;
  const { empty_body: emptyBody = false, accept = null, tolerates = [] } = request;
  lintMethod(wire, method, body !== null, `${path}/request`, findings);
  if ((body === "opaque") !== (mediaType !== null))
    findings.error(
      "pack_member_unfit",
      `${path}/request`,
      "an opaque body names its media_type, and no other body does",
    );
  if (gzip && body === null)
    findings.error("pack_member_unfit", `${path}/request/gzip`, "there is no body to send compressed");
  if (emptyBody && (body === null || isByDigest(body)))
    findings.error("pack_member_unfit", `${path}/request/empty_body`, "empty_body is for a JSON or form body");
  const streams = wire.response === "stream";
  return { kind: "http", method, template, body, mediaType, gzip, emptyBody, accept, tolerates, streams };
}

function lintResponse(wire: ActionWire, { findings, path, provider }: ActionContext): void {
  const refuse = (why: string) => findings.error("pack_member_unfit", `${path}/response`, why);
  if (wire.request === undefined) refuse("response: stream is for a request to the pack's provider");
  if (provider?.success != null) refuse("whether this provider did it stands in a whole answer (provider.success)");
}

function readFullUrl(wire: NonNullable<ActionWire["full_url"]>, path: string, findings: Findings): Parts<"url"> {
  const allow: UrlAllowance[] = [];
  wire.allow.forEach((entry, index) => {
    const at = `${path}/full_url/allow/${index}`;
    const origin = readOriginAt(entry.origin, `${at}/origin`, findings);
    const trouble = troubleWithPrefix(entry.prefix);
    if (trouble !== null) findings.error("template_malformed", `${at}/prefix`, trouble);
    if (origin !== null) allow.push({ origin, pathPrefix: entry.prefix, query: entry.query ?? false });
  });
  const { method, body = null, credential = null } = wire;
  if (body !== null && isBodyless(method))
    findings.error("pack_member_unfit", `${path}/full_url/body`, `${method} carries no body`);
  return { kind: "url", method, allow, body, credential };
}

function readSsh(wire: NonNullable<ActionWire["ssh"]>, path: string, findings: Findings): Parts<"ssh"> {
  const key = readSshPublicLine(wire.host_key);
  if (key === undefined)
    findings.error("value_not_allowed", `${path}/ssh/host_key`, "expected a public key line such as ssh-ed25519 AAAA…");
  return {
    kind: "ssh",
    host: wire.host.toLowerCase(),
    port: wire.port ?? 22,
    user: wire.user,
    hostKey: key === undefined ? "" : writeSshPublicLine(key),
    credential: wire.credential,
    action: wire.action,
    recording: wire.recording === "on",
  };
}

function readTemplate(text: string, path: string, findings: Findings): PathTemplate | null {
  try {
    return parseTemplate(text);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    findings.error("template_malformed", path, error.message);
    return null;
  }
}

function lintMethod(wire: ActionWire, method: string, hasBody: boolean, path: string, findings: Findings): void {
  const safe = isBodyless(method);
  if (safe && hasBody)
    findings.error("pack_member_unfit", `${path}/body`, `${method} carries no body; use a query, or another method`);
  if (method === "DELETE" && hasBody)
    findings.warn("pack_worth_a_look", `${path}/body`, "many servers drop the body of a DELETE");
  if (safe && hasSideEffect(wire.effect))
    findings.warn(
      "pack_worth_a_look",
      `${path}/method`,
      `effect: ${wire.effect} by ${method}: anything on the way may repeat it`,
    );
}

function isBodyless(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
