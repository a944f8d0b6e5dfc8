/** What the author of an API needs to accept one strict representation per route. */

export type { Code } from "../../../src/kernel/codes.ts";
export { Denied, type DeniedOptions, type Finding } from "../../../src/kernel/failure.ts";
export { createClientErrorHandler, type ErrorSocket } from "./client-error.ts";
export type { RequestHead } from "./head.ts";
export {
  type JsonDocument,
  type JsonLimits,
  parseJson,
  parseJsonValue,
} from "./json/parse.ts";
export type {
  FileInCommand,
  FileSink,
  OpenFile,
  PartDeclaration,
} from "./multipart/part.ts";
export { createRequestListener, type ListenerOptions } from "./node-http.ts";
export { type AcceptedRequest, beginRequest, type Intake } from "./pipeline.ts";
export { carryOut, type RequestRecord, recordRefusal, type Steps } from "./record.ts";
export {
  type BodyDeclaration,
  type Command,
  type CommandOf,
  defineRoute,
  type Route,
  type RouteDeclaration,
} from "./route.ts";
export { compileSchema, type JsonSchema } from "./schema.ts";
export { checkSchema, type SchemaFault } from "./schema-check.ts";
export type { FromSchema } from "./schema-type.ts";
export { type Answer, type BoundRoute, bindRoute } from "./serve.ts";
export {
  KEY_FIELD,
  SIGNATURE_FIELD,
  type SignatureRecord,
  type SignedRule,
  signedStatement,
} from "./signed.ts";
