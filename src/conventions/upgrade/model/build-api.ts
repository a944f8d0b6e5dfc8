import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { placed } from "../document/read-document.ts";
import type { Source } from "../document/source.ts";
import type { Api, ApiOperation, Dialect } from "./api.ts";
import { printRest, rootKeywords } from "./keywords.ts";
import { METHODS, readCalls, readOperation, text, texts } from "./read-operation.ts";
import { readRequirements, readSchemes } from "./read-security.ts";
import { readServers, readServerVariables } from "./read-servers.ts";
import { createReferences, encodePointer, type References } from "./resolve.ts";
import { createSchemas } from "./shape.ts";
import { createTroubles, type Troubles } from "./trouble.ts";
import { indexUsage } from "./visit.ts";

/** A document in any of the three dialects becomes one model, or a denial that lists everything wrong with it. */
export function buildApi(
  source: Source,
  limits: { readonly operations: number } = { operations: defaults.upgradeOperations },
): Api {
  const root = source.root;
  if (!isJsonObject(root)) {
    throw new Denied("document_invalid", `${source.name} is not an API document: its root is not an object.`);
  }
  const dialect = dialectOf(source, root);
  const swagger = dialect === "swagger-2.0";
  const troubles = createTroubles(source);
  const references = createReferences(root, troubles);
  const components = isJsonObject(root["components"]) ? root["components"] : {};
  const schemas = createSchemas(objectAt(swagger ? root["definitions"] : components["schemas"]), references, troubles);
  const schemes = swagger
    ? readSchemes(root["securityDefinitions"], references, "/securityDefinitions")
    : readSchemes(components["securitySchemes"], references, "/components/securitySchemes");
  const servers = readServers(root, swagger) ?? ["/"];
  const around = {
    source,
    swagger,
    references,
    troubles,
    schemes,
    servers,
    security: readRequirements(root["security"], schemes, troubles, "/security"),
    consumes: texts(root["consumes"]),
    produces: texts(root["produces"]),
  };

  const operations: ApiOperation[] = [];
  for (const [method, path, item, node] of listOperations(root, references, troubles)) {
    if (operations.length >= limits.operations) {
      throw new Denied("document_too_large", `${source.name} has more than ${limits.operations} operations.`);
    }
    operations.push(readOperation(method, path, item, node, around));
  }
  checkOperationIds(operations, source, root, troubles);
  operations.sort((a, b) => (a.key < b.key ? -1 : 1));
  const info = isJsonObject(root["info"]) ? root["info"] : {};
  const api: Api = {
    file: source.name,
    digest: source.digest,
    bytes: source.bytes,
    dialect,
    title: text(info["title"]) || source.name,
    version: text(info["version"]) || "unnamed",
    servers,
    serverVariables: swagger ? [] : readServerVariables(root),
    schemes,
    operations,
    webhooks: new Map(
      Object.entries(objectAt(root["webhooks"])).flatMap(([name, item]) => readCalls(name, item, around)),
    ),
    rest: printRest(root, rootKeywords),
    schemas,
  };
  // Every schema is looked at once, so that a broken or remote reference is told now and not in the middle of a review.
  indexUsage(api);
  troubles.settle();
  return api;
}

function dialectOf(source: Source, root: JsonObject): Dialect {
  const swagger = String(root["swagger"] ?? "");
  if (swagger === "2.0" || swagger === "2") return "swagger-2.0";
  const openapi = root["openapi"];
  if (typeof openapi === "string") {
    if (/^3\.0(\.|$)/.test(openapi)) return "openapi-3.0";
    if (/^3\.1(\.|$)/.test(openapi)) return "openapi-3.1";
  }
  const said = swagger || (typeof openapi === "string" ? openapi : "");
  throw new Denied(
    "document_invalid",
    `${placed(source.name, source.positionOf(root))}: ${said === "" ? "neither `swagger` nor `openapi` says a version" : `version ${JSON.stringify(said.slice(0, 20))} is not one that can be reviewed`}; 2.0, 3.0 and 3.1 can.`,
  );
}

function* listOperations(
  root: JsonObject,
  references: References,
  troubles: Troubles,
): Generator<readonly [method: string, path: string, item: JsonObject, node: JsonObject]> {
  const paths = root["paths"];
  if (paths === undefined && root["webhooks"] !== undefined) return;
  if (!isJsonObject(paths)) {
    troubles.add("document_invalid", root, "/paths", "`paths` must be an object");
    return;
  }
  for (const path of Object.keys(paths)) {
    if (path.startsWith("x-")) continue;
    const item = references.follow(paths[path], `/paths${encodePointer(path)}`)?.node;
    if (!path.startsWith("/") || item === undefined) {
      const held = paths[path];
      if (item === undefined && isJsonObject(held)) continue;
      troubles.add(
        "document_invalid",
        paths,
        `/paths${encodePointer(path)}`,
        `${JSON.stringify(path)} must begin with a slash and hold an object`,
      );
      continue;
    }
    for (const method of METHODS) {
      const node = item[method];
      if (node === undefined) continue;
      if (isJsonObject(node)) yield [method, path, item, node];
      else
        troubles.add(
          "document_invalid",
          item,
          `/paths${encodePointer(path, method)}`,
          `${method.toUpperCase()} must hold an object`,
        );
    }
  }
}

function checkOperationIds(
  operations: readonly ApiOperation[],
  source: Source,
  root: JsonObject,
  troubles: Troubles,
): void {
  const seen = new Map<string, ApiOperation>();
  for (const operation of operations) {
    const id = operation.operationId;
    if (id === null) continue;
    const first = seen.get(id);
    if (first === undefined) seen.set(id, operation);
    else {
      const pointer = `/paths${encodePointer(operation.path, operation.method.toLowerCase())}/operationId`;
      troubles.add(
        "operation_id_duplicate",
        nodeOf(root, operation),
        pointer,
        `${operation.key} carries the operationId ${JSON.stringify(id)} of ${first.key} at ${placed(source.name, first.position)}`,
      );
    }
  }
}

function nodeOf(root: JsonObject, operation: ApiOperation): object | undefined {
  const item = objectAt(objectAt(root["paths"])[operation.path]);
  const node = item[operation.method.toLowerCase()];
  return isJsonObject(node) ? node : undefined;
}

function objectAt(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}
