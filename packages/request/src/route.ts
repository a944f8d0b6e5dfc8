/**
 * A route declares the one representation it accepts: its path and query by schema, and a body that is JSON, a form,
 * multipart with a file, or nothing. Compiling a declaration finds the author's mistakes at start, not at the first request.
 */

import { type PathTemplate, parseTemplate } from "../../../src/conventions/url/template.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Fault, type Finding } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import { type FieldPlan, planFields } from "./fields.ts";
import { type CompiledPart, compilePart, type PartDeclaration, type PartValue } from "./multipart/part.ts";
import { pointerNames } from "./pointer.ts";
import { compileSchema, type JsonSchema, type SchemaCheck } from "./schema.ts";
import type { FromSchema } from "./schema-type.ts";
import type { SignedRule } from "./signed.ts";

export type Method = "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";

export type BodyDeclaration =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly schema: JsonSchema; readonly maxBytes?: number; readonly mediaType?: string }
  | { readonly kind: "form"; readonly schema: JsonSchema; readonly maxBytes?: number }
  /** Kept as it came, because its sender signed the bytes: who handles it checks that before anything is parsed. */
  | { readonly kind: "bytes"; readonly mediaType: string; readonly maxBytes: number }
  | {
      readonly kind: "multipart";
      readonly parts: { readonly [name: string]: PartDeclaration };
      readonly maxBytes?: number;
    };

export interface RouteDeclaration {
  readonly method: Method;
  /** Literal segments and whole `{name}` segments. */
  readonly path: string;
  readonly params?: JsonSchema;
  /** Absent: the route takes no query parameter at all. */
  readonly query?: JsonSchema;
  readonly body: BodyDeclaration;
  /** JSON Pointers into the command that are safe to record; nothing else of it is. */
  readonly recorded?: readonly string[];
  readonly signed?: SignedRule;
}

/** The one object that a request becomes. Authorization and execution see this and nothing else of the request. */
export interface Command<Params = JsonObject, Query = JsonObject, Body = JsonValue> {
  readonly endpoint: string;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
}

type BodyOf<Body extends BodyDeclaration> = Body extends { readonly kind: "none" }
  ? null
  : Body extends { readonly kind: "bytes" }
    ? BytesBody
    : Body extends { readonly schema: infer Schema }
      ? FromSchema<Schema>
      : Body extends { readonly parts: infer Parts }
        ? { readonly [Name in keyof Parts]: PartValue<Parts[Name]> }
        : never;

export type CommandOf<Declaration extends RouteDeclaration> = Command<
  Declaration extends { readonly params: infer Params } ? FromSchema<Params> : Record<never, never>,
  Declaration extends { readonly query: infer Query } ? FromSchema<Query> : Record<never, never>,
  BodyOf<Declaration["body"]>
>;

/** What a command says of a body that is kept as bytes; the bytes themselves stand in `files` under `body`. */
export type BytesBody = { readonly digest: string; readonly bytes: number };

export type CompiledBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly mediaType: string; readonly maxBytes: number }
  | { readonly kind: "json"; readonly mediaType: string; readonly maxBytes: number; readonly check: SchemaCheck }
  | {
      readonly kind: "form";
      readonly mediaType: string;
      readonly maxBytes: number;
      readonly fields: FieldPlan;
      readonly check: SchemaCheck;
    }
  | {
      readonly kind: "multipart";
      readonly mediaType: string;
      readonly maxBytes: number;
      readonly parts: ReadonlyMap<string, CompiledPart>;
    };

export interface CompiledFields {
  readonly fields: FieldPlan;
  readonly check: SchemaCheck;
}

/** Semantic checks: what a schema cannot say about one command, still without looking at any state. */
export type SemanticCheck<C> = (command: C) => readonly Finding[];

/** A member of the command that records keep, by JSON Pointer. */
export interface RecordedMember {
  readonly pointer: string;
  readonly names: readonly string[];
}

export interface Route<C extends Command<unknown, unknown, unknown> = Command<unknown, unknown, unknown>> {
  readonly method: Method;
  readonly endpoint: string;
  readonly template: PathTemplate;
  readonly params: CompiledFields;
  readonly query: CompiledFields;
  readonly body: CompiledBody;
  readonly recorded: readonly RecordedMember[];
  readonly signed: SignedRule | undefined;
  readonly semantic: SemanticCheck<C>;
}

export function defineRoute<const Declaration extends RouteDeclaration>(
  declaration: Declaration,
  semantic: SemanticCheck<CommandOf<Declaration>> = () => [],
): Route<CommandOf<Declaration>> {
  const template = parseTemplate(declaration.path);
  const params = declaration.params ?? NOTHING;
  checkParams(template, params);
  if (declaration.signed?.scheme === "canonical" && !["json", "none"].includes(declaration.body.kind)) {
    throw new Fault("a canonical signature needs a JSON body or none: other bodies have no canonical form");
  }
  if (declaration.signed !== undefined && declaration.body.kind === "multipart") {
    throw new Fault("a signature cannot cover a multipart body, which is never kept whole");
  }
  return {
    method: declaration.method,
    endpoint: `${declaration.method} ${declaration.path}`,
    template,
    params: compileFields(params),
    query: compileFields(declaration.query ?? NOTHING),
    body: compileBody(declaration.body),
    recorded: (declaration.recorded ?? []).map((pointer) => ({ pointer, names: pointerNames(pointer) })),
    signed: declaration.signed,
    semantic,
  };
}

const NOTHING: JsonSchema = { type: "object" };

function compileFields(schema: JsonSchema): CompiledFields {
  return { fields: planFields(schema), check: compileSchema(schema) };
}

function checkParams(template: PathTemplate, params: JsonSchema): void {
  const declared = Object.keys(params.properties ?? {}).sort();
  const required = [...(params.required ?? [])].sort();
  const named = [...template.parameters].sort();
  if (declared.join() !== named.join() || required.join() !== named.join()) {
    throw new Fault(`${template.text}: params must describe and require exactly the names in the path`);
  }
}

function compileBody(body: BodyDeclaration): CompiledBody {
  switch (body.kind) {
    case "none":
    case "bytes":
      return body;
    case "json":
      return {
        kind: "json",
        mediaType: body.mediaType ?? "application/json",
        maxBytes: body.maxBytes ?? defaults.jsonBodyBytes,
        check: compileSchema(body.schema),
      };
    case "form":
      return {
        kind: "form",
        mediaType: "application/x-www-form-urlencoded",
        maxBytes: body.maxBytes ?? defaults.formBodyBytes,
        ...compileFields(body.schema),
      };
    case "multipart":
      if (!Object.values(body.parts).some((part) => part.kind === "file")) {
        throw new Fault("multipart is for commands with a file: declare a file part, or use JSON");
      }
      return {
        kind: "multipart",
        mediaType: "multipart/form-data",
        maxBytes: body.maxBytes ?? defaults.multipartBodyBytes,
        parts: new Map(Object.entries(body.parts).map(([name, part]) => [name, compilePart(name, part)])),
      };
  }
}
