/**
 * Action packs: what an agent may ask for, as data that a person reviewed. This file holds the types that the other
 * rooms read; the wire form is in schema/, the reader in read.ts, and binding arguments to a definition in bind.ts.
 */

import type { JsonSchema, SchemaCheck } from "../../../packages/request/src/schema.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import type { Code } from "../../kernel/codes.ts";
import type { PriceRule } from "../budget/price.ts";
import type { CallbackRule } from "../callback/callback.ts";
import type { PageContract } from "../discovery/read-page.ts";
import type { RetryClass } from "../outcome/retry.ts";
import type { SuccessMember } from "../outcome/success-member.ts";
import type { UrlAllowance } from "../url/admit.ts";
import type { PercentRule } from "../url/encode.ts";
import type { Origin } from "../url/origin.ts";
import type { ListStyle } from "../url/query.ts";
import type { PathTemplate } from "../url/template.ts";

export type Effect = "preview" | "read" | "write" | "send" | "create" | "purchase";
export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
export type BodyType =
  | "application/json"
  | "application/x-www-form-urlencoded"
  | "multipart/form-data"
  /** One input, whose bytes are the whole body. */
  | "opaque"
  /** Ref updates as typed input, and a packfile. */
  | "git-receive-pack";
/** The name on the wire of an input that is the whole JSON body. */
export const WHOLE = "";
export type Place = "path" | "query" | "header" | "body";

export interface Pack {
  readonly name: string;
  /** SHA-256 of the exact bytes: trust is given to this. */
  readonly digest: Digest;
  readonly description: string | null;
  readonly provider: Provider | null;
  /** By the name inside the pack, without the pack's own. */
  readonly actions: ReadonlyMap<string, ActionDefinition>;
}

export interface Provider {
  readonly origin: Origin;
  readonly credential: string | null;
  readonly auth: Auth | null;
  readonly version: { readonly header: string; readonly value: string } | null;
  readonly idempotency: {
    readonly header: string;
    readonly windowMs: number;
    /** How the token is written: a UUID, unless the provider wants something longer. */
    readonly format: "uuid" | "opaque";
  } | null;
  readonly correlationHeader: string | null;
  readonly redirects: RedirectPolicy;
  readonly network: "public" | "private";
  readonly ca: string | null;
  readonly limits: Limits;
  /** Null where the status alone says whether a request was taken. */
  readonly success: SuccessMember | null;
  /** Null where the provider's callbacks are not taken. */
  readonly callbacks: CallbackRule | null;
  /** Media types that a tool may ask for where an action asks for JSON: they mean the same here. Lower case. */
  readonly accepts: readonly string[];
  /** Header fields of tools that mean nothing to this provider's state. Lower case. */
  readonly tolerates: readonly string[];
  /** Where tools look for their token; in a box a placeholder stands there. */
  readonly tokenVariables: readonly string[];
}

export type Auth =
  | { readonly scheme: "bearer" | "basic"; readonly header: "authorization" }
  | { readonly scheme: "header"; readonly header: string }
  /** A token that the credential is exchanged for, and what it has to be good for. */
  | { readonly scheme: "oauth2"; readonly header: "authorization"; readonly scopes: readonly string[] }
  | {
      readonly scheme: "aws-sigv4";
      readonly header: "authorization";
      readonly region: string;
      readonly service: string;
      readonly form: "header" | "query";
    }
  /** Who the connection says it is, or a signature over the request: nothing that is sent opens anything later. */
  | { readonly scheme: "mtls" | "http-signature"; readonly header: "authorization" };

/** The least that a token must be good for. */
export interface TokenNeed {
  readonly scopes: readonly string[] | null;
  /** The input that names the one repository it is for, at a provider whose tokens can be narrowed so. */
  readonly repository: string | null;
  /** Names of what it is for, with inputs in braces, at a provider whose tokens are narrowed by a policy. */
  readonly resources: readonly string[];
}

/** The fields that the credential takes, in lower case: nothing else may fill them. */
export function fieldsOf(auth: Auth | null): readonly string[] {
  if (auth === null) return [];
  if (auth.scheme === "aws-sigv4") return [auth.header, ...AWS_FIELDS];
  return auth.scheme === "http-signature" ? [auth.header, ...SIGNATURE_FIELDS] : [auth.header];
}

const SIGNATURE_FIELDS = ["signature", "signature-input", "content-digest"];
const AWS_FIELDS = ["x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];

export interface RedirectPolicy {
  /** Beside the provider's own origin. */
  readonly origins: readonly Origin[];
  readonly others: "refuse" | "ask";
  readonly credential: "strip" | "refuse";
  readonly max: number;
}

export interface Limits {
  /** Null where the gateway's own limit holds. */
  readonly timeoutMs: number | null;
  readonly responseBytes: number;
}

export type ActionDefinition = HttpAction | UrlAction | SshAction;

interface ActionBase {
  /** The name inside the pack. */
  readonly name: string;
  /** PACK.ACTION, as an agent calls it. */
  readonly qualifiedName: string;
  readonly description: string | null;
  readonly effect: Effect;
  readonly retry: RetryClass;
  readonly needs: { readonly plan: string | null; readonly approval: "session" | "each_use"; readonly ticket: boolean };
  /** The provider cannot say beforehand what it changes, so that every call asks a person. */
  readonly previewless?: boolean;
  readonly inputs: readonly InputField[];
  /** The schema of the agent's arguments, as it is listed to agents. */
  readonly schema: JsonSchema;
  readonly checkArguments: SchemaCheck;
  readonly plan: { readonly id: Slot; readonly revision: Slot | null } | null;
  readonly confirm: string | null;
  readonly maxCostCents: number | null;
  /** Null where no answer says what it cost, so that the maximum counts. */
  readonly actualCost: PriceRule | null;
  /** It may cost without a ceiling, so that every call asks a person. */
  readonly asksEachCall: boolean;
  readonly job: Job | null;
  readonly unknown: {
    readonly retryAllowed: boolean;
    /** The read that finds out. */
    readonly reconcile: string | null;
    /** The provider documents that the same token and payload return the original result and start nothing again. */
    readonly tokenRetry: boolean;
  };
  readonly rollback: { readonly of: string } | null;
  readonly pages: Pages | null;
  readonly echo: "withhold" | "redact";
  /** JSON Pointers into the answer. */
  readonly mints: readonly string[];
  /** What a token of this action has to be good for and no more; null where the provider's own scopes say it. */
  readonly token: TokenNeed | null;
  readonly limits: Limits;
}

export interface HttpAction extends ActionBase {
  readonly kind: "http";
  readonly method: Method;
  readonly template: PathTemplate;
  readonly body: BodyType | null;
  /** The media type of an opaque body. */
  readonly mediaType: string | null;
  /** A tool may send the body compressed; it is sent on as it was before. */
  readonly gzip: boolean;
  /** With nothing to say in it, no body is sent at all. */
  readonly emptyBody: boolean;
  /** What it asks for in Accept; null for JSON. Lower case. */
  readonly accept: string | null;
  /** Query members of a tool's own request that are not sent on. */
  readonly tolerates: readonly string[];
  /** A tool in a box gets the answer as it comes, piece by piece. */
  readonly streams: boolean;
}

/** Takes a whole URL as the argument `url`, under an allow-list. */
export interface UrlAction extends ActionBase {
  readonly kind: "url";
  readonly method: Method;
  readonly allow: readonly UrlAllowance[];
  readonly body: BodyType | null;
  readonly credential: string | null;
}

export interface SshAction extends ActionBase {
  readonly kind: "ssh";
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** The public line, type and base64. */
  readonly hostKey: string;
  readonly credential: string;
  /** The operation of the receiver. */
  readonly action: string;
  readonly recording: boolean;
}

export interface InputField {
  readonly name: string;
  /** Null for SSH: the field goes to the receiver by its name. */
  readonly place: Place | null;
  readonly wireName: string;
  readonly optional: boolean;
  /** Filled in by the gateway when the agent leaves it out. */
  readonly constant: string | number | boolean | null | undefined;
  readonly percent: PercentRule;
  readonly list: ListStyle | null;
  /** A person and the log have its size and digest instead of the value. */
  readonly opaque: boolean;
  /** Opaque because the value is a secret of somebody's, and said so. */
  readonly sensitive: boolean;
  /** `bytes` is the whole of an opaque body, or the packfile of a push; it and a file come as base64. */
  readonly part: "field" | "json" | "file" | "bytes";
  readonly filename: string;
  readonly mediaType: string;
  /** A constant that is a GraphQL document: a tool may write the same one with other blanks. */
  readonly language?: "graphql";
  readonly schema: JsonSchema;
}

/** How many bytes an opaque body may have, as its pack says; 0 where there is none. */
export function opaqueBytes(action: ActionDefinition): number {
  if (action.kind !== "http" || action.body !== "opaque") return 0;
  const [field] = action.inputs.filter(({ place }) => place === "body");
  return Math.floor((field?.schema.maxLength ?? 0) / 4) * 3;
}

/** The document that an action sends, where it speaks GraphQL. */
export function documentOf({ inputs }: Pick<ActionBase, "inputs">): InputField | null {
  return inputs.find(({ language }) => language === "graphql") ?? null;
}

export interface Slot {
  /** `field` is a field of the receiver's request. */
  readonly place: Place | "field";
  readonly wireName: string;
}

export interface Job {
  /** JSON Pointers into the answers. */
  readonly id: string;
  readonly state: string;
  readonly status: JobAction;
  readonly cancel: JobAction | null;
  readonly result: JobAction | null;
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
  readonly cancelled: readonly string[];
  /** The action by which failed work goes on; null where the provider documents none. */
  readonly resume: JobAction | null;
  readonly createDeadlineMs: number;
  readonly resultDeadlineMs: number;
  readonly pollFirstMs: number;
  readonly pollCapMs: number;
  readonly maxChecks: number;
}

/** An action on the job; the identifier goes into `idInput`, its other inputs come from the creating call by name. */
export interface JobAction {
  readonly action: string;
  readonly idInput: string;
}

export interface Pages extends PageContract {
  readonly sizeParam: string | null;
  readonly pageSize: number;
  readonly maxPages: number;
  readonly maxRecords: number;
}

/** A remark about a pack file, where it stands. Errors keep the pack out, warnings do not. */
export interface PackFinding {
  readonly severity: "error" | "warning";
  readonly code: Code;
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** A JSON Pointer into the file's data. */
  readonly path: string;
  readonly message: string;
}

/** Whether the command has the body by size and digest alone. */
export function isByDigest(body: BodyType | null): boolean {
  return body === "multipart/form-data" || body === "opaque" || body === "git-receive-pack";
}

export function hasSideEffect(effect: Effect): boolean {
  return effect !== "read" && effect !== "preview";
}
