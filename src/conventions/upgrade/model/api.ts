import type { Digest } from "../../../kernel/canonical-json.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import type { Position } from "../document/source.ts";
import { sortText } from "./order.ts";
import type { Schemas } from "./shape.ts";

export type Dialect = "swagger-2.0" | "openapi-3.0" | "openapi-3.1";

/** One version of an API in one form, whatever dialect it was written in. Lists are sorted; order carries no meaning. */
export interface Api {
  readonly file: string;
  readonly digest: Digest;
  readonly bytes: number;
  readonly dialect: Dialect;
  readonly title: string;
  readonly version: string;
  readonly servers: readonly string[];
  readonly serverVariables: readonly ServerVariable[];
  readonly schemes: ReadonlyMap<string, Scheme>;
  readonly operations: readonly ApiOperation[];
  /** What the provider sends of itself, as operations that the other side serves. */
  readonly webhooks: ReadonlyMap<string, ApiOperation>;
  /** Members that no reader knows by name. */
  readonly rest: string;
  readonly schemas: Schemas;
}

export interface ApiOperation {
  /** `GET /sites/{site_id}` */
  readonly key: string;
  readonly method: string;
  readonly path: string;
  /** The key with the names of path parameters erased: what the wire sees. */
  readonly route: string;
  readonly operationId: string | null;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly deprecated: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: Body | null;
  readonly answers: ReadonlyMap<string, Answer>;
  /** Any one of these lets a request in. None at all: no credential is asked for, or nothing is declared. */
  readonly security: readonly Requirement[];
  /** False where neither the operation nor the document says a word: nobody knows then what it asks for. */
  readonly securityDeclared: boolean;
  readonly servers: readonly string[];
  /** Those of `servers` that the operation or its path names itself. */
  readonly serverVariables: readonly ServerVariable[];
  /** What it makes the provider call, and with which requests. */
  readonly callbacks: ReadonlyMap<string, ApiOperation>;
  /** Role and permission names that the prose asks for, where security schemes have no word for them. */
  readonly roles: readonly string[];
  readonly position: Position | undefined;
  /** Members of the operation and of its path that no reader knows by name. */
  readonly rest: string;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly schema: JsonValue;
  readonly style: string;
  readonly allowEmpty: boolean;
  /** Reserved characters go out as they are: a value can then reach beyond its place. */
  readonly allowReserved: boolean;
  readonly deprecated: boolean;
  /** Members that no reader knows by name. */
  readonly rest: string;
}

export interface Body {
  readonly required: boolean;
  readonly media: ReadonlyMap<string, JsonValue>;
  /** How the parts of a form are written, and what no reader knows by name, by media type, as text. */
  readonly encodings: ReadonlyMap<string, string>;
  readonly rest: string;
}

export interface Answer {
  readonly media: ReadonlyMap<string, JsonValue>;
  readonly encodings: ReadonlyMap<string, string>;
  readonly headers: ReadonlyMap<string, Parameter>;
  readonly links: ReadonlyMap<string, string>;
  readonly rest: string;
}

/** All of these together; the empty list means that a request without a credential is let in. */
export type Requirement = readonly { readonly scheme: string; readonly scopes: readonly string[] }[];

export interface Scheme {
  readonly name: string;
  /** `bearer`, `basic`, `apiKey header X-API-Key`, `oauth2`, `openIdConnect`, … */
  readonly kind: string;
  readonly scopes: readonly string[];
  /** Where tokens are asked for: another host there sees the grant. */
  readonly endpoints: readonly string[];
  readonly bearerFormat: string | null;
  /** Members that no reader knows by name. */
  readonly rest: string;
}

/** A part of a server's address that is filled in. Without values anything may be. */
export interface ServerVariable {
  readonly url: string;
  /** Null for the server itself, of which only `rest` is told here. */
  readonly name: string | null;
  readonly values: readonly string[] | null;
  readonly fallback: string | null;
  readonly rest: string;
}

export function describeRequirement(requirement: Requirement): string {
  if (requirement.length === 0) return "no credential";
  return requirement
    .map(({ scheme, scopes }) => (scopes.length === 0 ? scheme : `${scheme} (${scopes.join(", ")})`))
    .join(" and ");
}

export function describeSecurity({
  security,
  securityDeclared,
}: Pick<ApiOperation, "security" | "securityDeclared">): string {
  if (!securityDeclared) return "not declared";
  return security.length === 0 ? "no credential" : sortText(security.map(describeRequirement)).join(" or ");
}
