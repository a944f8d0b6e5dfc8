import { codes } from "../../../src/kernel/codes.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import { PROBLEM_MEDIA_TYPE } from "../../../src/kernel/problem.ts";
import type { PartDeclaration } from "./multipart/part.ts";
import type { RouteDeclaration } from "./route.ts";
import type { JsonSchema } from "./schema.ts";

/** What the document says of a route beside its declaration. */
export interface About {
  readonly summary: string;
  /** Answers by status; a problem document is understood everywhere. */
  readonly answers: Readonly<Record<number, { readonly description: string; readonly schema?: JsonSchema }>>;
  /** Header fields with a meaning of their own. */
  readonly headers?: readonly { readonly name: string; readonly required: boolean; readonly description: string }[];
  /** The scopes that a bearer token needs; absent where the document has no bearer tokens. */
  readonly scopes?: readonly string[];
}

interface Documented {
  readonly declaration: RouteDeclaration;
  readonly about: About;
}

/** OpenAPI 3.1, written from the very declarations that the routes run on, so that the two cannot drift apart. */
export function writeOpenApi(title: string, version: string, routes: readonly Documented[]): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const { declaration, about } of routes) {
    const path = paths[declaration.path] ?? {};
    paths[declaration.path] = path;
    path[declaration.method.toLowerCase()] = operation(declaration, about);
  }
  const bearer = routes.some(({ about }) => about.scopes !== undefined);
  return {
    openapi: "3.1.0",
    info: { title, version, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    paths,
    components: {
      schemas: { Problem: problemSchema() },
      ...(bearer ? { securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } } } : {}),
    },
  };
}

function operation(declaration: RouteDeclaration, about: About): JsonObject {
  const parameters = [
    ...parametersOf("path", declaration.params),
    ...parametersOf("query", declaration.query),
    ...(about.headers ?? []).map((field) => ({ ...field, in: "header", schema: { type: "string" } })),
  ];
  const answers = Object.entries(about.answers).map(([status, { description, schema }]): [string, JsonValue] => [
    status,
    schema === undefined
      ? { description }
      : { description, content: { "application/json": { schema: asJson(schema) } } },
  ]);
  return {
    summary: about.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...bodyOf(declaration),
    ...(about.scopes === undefined ? {} : { security: [{ bearer: about.scopes }] }),
    responses: {
      ...Object.fromEntries(answers),
      default: {
        description: "A refusal with a stable code",
        content: { [PROBLEM_MEDIA_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

function parametersOf(place: "path" | "query", schema: JsonSchema | undefined): readonly JsonObject[] {
  return Object.entries(schema?.properties ?? {}).map(([name, member]) => ({
    name,
    in: place,
    required: schema?.required?.includes(name) ?? false,
    schema: asJson(member),
  }));
}

function bodyOf({ body }: RouteDeclaration): JsonObject {
  switch (body.kind) {
    case "none":
      return {};
    case "json":
      return requestBody(body.mediaType ?? "application/json", closed(body.schema));
    case "bytes":
      return requestBody(body.mediaType, {});
    case "form":
      return requestBody("application/x-www-form-urlencoded", closed(body.schema));
    case "multipart":
      return requestBody("multipart/form-data", {
        type: "object",
        properties: Object.fromEntries(Object.entries(body.parts).map(([name, part]) => [name, partSchema(part)])),
        required: Object.keys(body.parts).filter((name) => body.parts[name]?.optional !== true),
        additionalProperties: false,
      });
  }
}

function requestBody(mediaType: string, schema: JsonObject): JsonObject {
  return { requestBody: { required: true, content: { [mediaType]: { schema } } } };
}

function partSchema(part: PartDeclaration): JsonObject {
  return part.kind === "file" ? { type: "string", contentMediaType: "application/octet-stream" } : closed(part.schema);
}

/** Our objects refuse members they do not name; a reader of the document must be told so. */
function closed(schema: JsonSchema): JsonObject {
  const open = schema.type === "object" && schema.additionalProperties === undefined;
  return open ? { ...asJson(schema), additionalProperties: false } : asJson(schema);
}

function problemSchema(): JsonObject {
  const finding = {
    type: "object",
    properties: { code: { type: "string" }, path: { type: "string" }, message: { type: "string" } },
    required: ["code", "path", "message"],
  };
  return {
    type: "object",
    properties: {
      type: { type: "string" },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string" },
      code: { type: "string", enum: Object.keys(codes) },
      message: { type: "string" },
      errors: { type: "array", items: finding },
      retry_allowed: { type: "boolean" },
      correlation_id: { type: "string" },
      run_id: { type: ["string", "null"] },
    },
    required: [
      "type",
      "title",
      "status",
      "detail",
      "code",
      "message",
      "errors",
      "retry_allowed",
      "correlation_id",
      "run_id",
    ],
  };
}

function asJson(schema: JsonSchema): JsonObject {
  return schema as unknown as JsonObject;
}
