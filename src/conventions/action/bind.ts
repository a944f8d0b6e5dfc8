/**
 * Binds typed arguments to a trusted definition. What comes out is the whole request but for its secret: method, URL,
 * headers, body bytes, the digest that an approval and a plan are tied to, and what a person must see.
 */

import type { ValueSpelling } from "../../../packages/request/src/schema.ts";
import { canonicalJson, type Digest, digestText } from "../../kernel/canonical-json.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { RetryClass } from "../outcome/retry.ts";
import { admitUrl } from "../url/admit.ts";
import { buildUrl } from "../url/build.ts";
import { isPrivateHost, type Origin } from "../url/origin.ts";
import { writeBody } from "./body.ts";
import { argumentOf, type GatewayFill, gather, requirePlan } from "./gather.ts";
import { maskOpaque, nameOnWire, showArguments } from "./keep.ts";
import { requireOwnPath } from "./own-path.ts";
import {
  type ActionDefinition,
  type Auth,
  type Effect,
  type HttpAction,
  isByDigest,
  type Limits,
  type Method,
  type Pack,
  type SshAction,
  type UrlAction,
} from "./pack.ts";
import type { HttpSend, SshSend } from "./send.ts";

export type BoundAction = BoundHttp | BoundSsh;

interface BoundBase {
  /** PACK.ACTION. */
  readonly action: string;
  readonly packDigest: Digest;
  readonly effect: Effect;
  readonly retry: RetryClass;
  readonly maxCostCents: number | null;
  readonly asksEachCall: boolean;
  readonly limits: Limits;
  /** SHA-256 over canonical JSON of the typed command. */
  readonly requestDigest: Digest;
  readonly requestBytes: number;
  /** The exact arguments for a person; opaque ones by size and digest. */
  readonly shown: JsonObject;
  /** Inputs that go out under another name, or as a header field: what a person reads beside the argument. */
  readonly sentAs: JsonObject;
  readonly kept: KeptCommand;
}

/** The command as records keep it. Where it is whole, its text is the one that the request digest is over. */
export interface KeptCommand {
  readonly text: string;
  readonly whole: boolean;
  /** Where it goes, as a card and a record show it. */
  readonly url: string;
}

/** Also what a full-URL action becomes: from here on it is one HTTP request like any other. */
/** The credential, the idempotency token and the correlation id are added by the gateway. */
export interface BoundHttp extends BoundBase, HttpSend {
  readonly method: Method;
  readonly origin: Origin;
  readonly credential: string | null;
  readonly auth: Auth | null;
}

export interface BoundSsh extends BoundBase, SshSend {
  readonly credential: string;
}

export function bindAction(
  pack: Pack,
  name: string,
  args: JsonObject,
  fill: GatewayFill = {},
  spelling?: ValueSpelling,
): BoundAction {
  const action = pack.actions.get(name);
  if (action === undefined) throw new Denied("action_not_permitted", "This run may not do that.");
  requireArguments(action, args, spelling);
  switch (action.kind) {
    case "http":
    case "url":
      return bindHttp(pack, action, args, fill);
    case "ssh":
      return bindSsh(pack, action, args, fill);
  }
}

/** What can be said of arguments alone, before anything of ours is put beside them. */
export function requireArguments(action: ActionDefinition, args: JsonObject, spelling?: ValueSpelling): void {
  const errors = action.checkArguments(args, spelling);
  if (errors.length > 0)
    throw new Denied("schema_violation", `The arguments do not fit ${action.qualifiedName}.`, { errors });
  if (!isWellFormed(args))
    throw new Denied("text_malformed", "an argument holds a lone surrogate, which no encoding can carry");
}

function bindHttp(pack: Pack, action: HttpAction | UrlAction, args: JsonObject, fill: GatewayFill): BoundHttp {
  const { url, origin, body, headers, text } = writeCommand(pack, action, args, fill);
  const provider = action.kind === "http" ? pack.provider : null;
  const masked = maskOpaque(action, args);
  const shown = masked === args ? { url, text } : writeCommand(pack, action, masked, fill);
  const kept = { text: shown.text, url: shown.url, whole: masked === args && !isByDigest(action.body) };
  return {
    ...baseOf(pack, action, args, text, url.length + (body.bytes?.byteLength ?? 0), kept),
    kind: "http",
    method: action.method,
    url,
    origin,
    headers,
    body: body.bytes,
    credential: action.kind === "url" ? action.credential : (provider?.credential ?? null),
    auth:
      action.kind === "url" && action.credential !== null
        ? { scheme: "bearer", header: "authorization" }
        : (provider?.auth ?? null),
    network: provider?.network ?? (isPrivateHost(new URL(url).hostname) ? "private" : "public"),
    ca: provider?.ca ?? null,
    echo: action.echo,
  };
}

function writeCommand(pack: Pack, action: HttpAction | UrlAction, args: JsonObject, fill: GatewayFill) {
  const gathered = gather(action, args, fill);
  const { url, origin } =
    action.kind === "url" ? admitUrl(String(args["url"]), action.allow) : buildActionUrl(pack, action, gathered);
  const body = writeBody(action, gathered.body, fill.spooled);
  const headers = writeHeaders(pack, action, gathered.headers, body.mediaType);
  // The members stand in canonical order, so that this text is the canonical JSON of the command.
  const text = `{"action":${JSON.stringify(action.qualifiedName)},"body":${body.digested},"headers":${canonicalJson(headers)},"method":"${action.method}","url":${JSON.stringify(url)}}`;
  return { url, origin, body, headers, text };
}

function buildActionUrl(
  pack: Pack,
  action: HttpAction,
  gathered: ReturnType<typeof gather>,
): { readonly url: string; readonly origin: Origin } {
  if (pack.provider === null) throw new Fault(`${action.qualifiedName} has no provider`);
  const built = buildUrl({
    origin: pack.provider.origin,
    template: action.template,
    path: gathered.path,
    query: gathered.query,
  });
  requireOwnPath(pack, action, built.path);
  return built;
}

function writeHeaders(
  pack: Pack,
  action: HttpAction | UrlAction,
  own: ReadonlyMap<string, string>,
  mediaType: string | null,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    accept: action.kind === "url" ? "*/*" : (action.accept ?? "application/json"),
  };
  const version = action.kind === "http" ? pack.provider?.version : null;
  if (version !== null && version !== undefined) headers[version.header.toLowerCase()] = version.value;
  if (mediaType !== null) headers["content-type"] = mediaType;
  for (const [name, value] of own) headers[name] = value;
  return headers;
}

function bindSsh(pack: Pack, action: SshAction, args: JsonObject, fill: GatewayFill): BoundSsh {
  const { host, port, user, hostKey, credential, action: operation } = action;
  const fields = receiverFields(action, args, fill);
  const commandOf = (sent: JsonObject): string =>
    canonicalJson({ action: action.qualifiedName, fields: sent, host, host_key: hostKey, operation, port, user });
  const masked = maskOpaque(action, args);
  const text = commandOf(masked === args ? fields : receiverFields(action, masked, fill));
  const kept = { text, whole: masked === args, url: `ssh://${user}@${host}:${port}/${operation}` };
  return {
    ...baseOf(pack, action, args, commandOf(fields), Buffer.byteLength(canonicalJson(fields)), kept),
    kind: "ssh",
    host,
    port,
    user,
    hostKey,
    credential,
    operation,
    fields,
    recording: action.recording ? "on" : "off",
  };
}

function receiverFields(action: SshAction, args: JsonObject, fill: GatewayFill): JsonObject {
  const fields: Record<string, JsonValue> = {};
  if (action.plan !== null) {
    const { id, revision } = requirePlan(action.plan, fill);
    fields[action.plan.id.wireName] = id;
    if (action.plan.revision !== null) fields[action.plan.revision.wireName] = revision;
  }
  for (const field of action.inputs) {
    const value = argumentOf(field, args);
    if (value !== undefined) fields[field.name] = value;
  }
  return fields;
}

function baseOf(
  pack: Pack,
  action: ActionDefinition,
  args: JsonObject,
  command: string,
  requestBytes: number,
  kept: KeptCommand,
): BoundBase {
  return {
    action: action.qualifiedName,
    packDigest: pack.digest,
    effect: action.effect,
    retry: action.retry,
    maxCostCents: action.maxCostCents,
    asksEachCall: action.asksEachCall,
    limits: action.limits,
    requestDigest: digestText(command),
    requestBytes,
    shown: showArguments(action, args),
    sentAs: nameOnWire(action, args),
    kept,
  };
}

function isWellFormed(value: JsonValue): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}
