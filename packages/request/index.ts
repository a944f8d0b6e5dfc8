/** What the author of an API needs to accept one strict representation per route. */
export { createClientErrorHandler, type ErrorSocket } from "../../src/conventions/request/client-error.ts";
export type { RequestHead } from "../../src/conventions/request/head.ts";
export {
  type JsonDocument,
  type JsonLimits,
  parseJson,
  parseJsonValue,
} from "../../src/conventions/request/json/parse.ts";
export type {
  FileInCommand,
  FileSink,
  OpenFile,
  PartDeclaration,
} from "../../src/conventions/request/multipart/part.ts";
export { createRequestListener, type ListenerOptions } from "../../src/conventions/request/node-http.ts";
export { type AcceptedRequest, beginRequest, type Intake } from "../../src/conventions/request/pipeline.ts";
export { carryOut, type RequestRecord, recordRefusal, type Steps } from "../../src/conventions/request/record.ts";
export {
  type BodyDeclaration,
  type Command,
  type CommandOf,
  defineRoute,
  type Route,
  type RouteDeclaration,
} from "../../src/conventions/request/route.ts";
export { compileSchema, type JsonSchema } from "../../src/conventions/request/schema.ts";
export { checkSchema, type SchemaFault } from "../../src/conventions/request/schema-check.ts";
export type { FromSchema } from "../../src/conventions/request/schema-type.ts";
export { type Answer, type BoundRoute, bindRoute } from "../../src/conventions/request/serve.ts";
export {
  KEY_FIELD,
  SIGNATURE_FIELD,
  type SignatureRecord,
  type SignedRule,
  signedStatement,
} from "../../src/conventions/request/signed.ts";
export type { Code } from "../../src/kernel/codes.ts";
export { Denied, type DeniedOptions, type Finding } from "../../src/kernel/failure.ts";
