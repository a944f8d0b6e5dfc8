import { canonicalJson } from "../../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { Source } from "../document/source.ts";
import type { Answer, ApiOperation, Body, Parameter, Requirement, Scheme } from "./api.ts";
import {
  answerKeywords,
  bodyKeywords,
  linkKeywords,
  mediaKeywords,
  operationKeywords,
  parameterKeywords,
  pathKeywords,
  printRest,
} from "./keywords.ts";
import { sortText } from "./order.ts";
import { readRoles } from "./read-roles.ts";
import { readRequirements } from "./read-security.ts";
import { readServers, readServerVariables } from "./read-servers.ts";
import { encodePointer, type References } from "./resolve.ts";
import type { Troubles } from "./trouble.ts";

/** What an operation inherits from its document. */
export interface Surroundings {
  readonly source: Source;
  readonly swagger: boolean;
  readonly references: References;
  readonly troubles: Troubles;
  readonly schemes: ReadonlyMap<string, Scheme>;
  readonly security: readonly Requirement[] | undefined;
  readonly servers: readonly string[];
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
}

export const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
const IGNORED_HEADERS = new Set(["accept", "content-type", "authorization"]);

export function readOperation(
  method: string,
  path: string,
  item: JsonObject,
  node: JsonObject,
  around: Surroundings,
): ApiOperation {
  const pointer = `/paths${encodePointer(path, method)}`;
  const { all, body: swaggerBody } = readParameters(item, node, pointer, around);
  const key = `${method.toUpperCase()} ${path}`;
  const security =
    readRequirements(node["security"], around.schemes, around.troubles, `${pointer}/security`) ?? around.security;
  return {
    key,
    method: method.toUpperCase(),
    path,
    route: routeOf(method, path),
    operationId: typeof node["operationId"] === "string" ? node["operationId"] : null,
    summary: text(node["summary"]),
    description: text(node["description"]),
    tags: sortText(texts(node["tags"])),
    deprecated: node["deprecated"] === true,
    parameters: all,
    body: around.swagger ? swaggerBody : readBody(node["requestBody"], pointer, around),
    answers: readAnswers(node, pointer, around),
    security: security ?? [],
    securityDeclared: security !== undefined,
    servers:
      (around.swagger ? undefined : (readServers(node, false) ?? readServers(item, false))) ??
      swaggerSchemes(node, around),
    serverVariables: around.swagger ? [] : readServerVariables(Array.isArray(node["servers"]) ? node : item),
    callbacks: readCallbacks(node["callbacks"], pointer, around),
    roles: readRoles(`${text(node["summary"])}\n${text(node["description"])}`),
    position: around.source.positionOf(node),
    rest: printRest(node, operationKeywords) + printRest(item, pathKeywords),
  };
}

/** Names of path parameters are the document's own affair; the wire sees only where they stand. */
export function routeOf(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replaceAll(/\{[^{}]*\}/g, "{}")}`;
}

function swaggerSchemes(node: JsonObject, around: Surroundings): readonly string[] {
  const own = around.swagger ? texts(node["schemes"]) : [];
  if (own.length === 0) return around.servers;
  return sortText(around.servers.flatMap((server) => own.map((scheme) => server.replace(/^[a-z]+:/i, `${scheme}:`))));
}

function readParameters(
  item: JsonObject,
  node: JsonObject,
  pointer: string,
  around: Surroundings,
): { readonly all: readonly Parameter[]; readonly body: Body | null } {
  const found = new Map<string, Parameter>();
  let body: Body | null = null;
  for (const holder of [item, node]) {
    const listed = holder["parameters"];
    if (listed === undefined) continue;
    if (!Array.isArray(listed)) {
      around.troubles.add("document_invalid", holder, `${pointer}/parameters`, "parameters must be a list");
      continue;
    }
    for (const [index, entry] of listed.entries()) {
      const parameter = around.references.follow(entry, `${pointer}/parameters/${index}`)?.node;
      if (parameter === undefined) continue;
      const name = parameter["name"];
      const place = parameter["in"];
      if (typeof name !== "string" || typeof place !== "string") {
        around.troubles.add(
          "document_invalid",
          parameter,
          `${pointer}/parameters/${index}`,
          "a parameter needs `name` and `in`",
        );
        continue;
      }
      if (place === "body") {
        const media = new Map(consumed(node, around).map((type) => [type, parameter["schema"] ?? true]));
        body = { required: parameter["required"] === true, media, encodings: new Map(), rest: "" };
      } else if (around.swagger || place !== "header" || !IGNORED_HEADERS.has(name.toLowerCase())) {
        const known = place === "header" ? name.toLowerCase() : name;
        found.set(`${place} ${known}`, readParameter(known, place, parameter, around));
      }
    }
  }
  return { all: [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, parameter]) => parameter), body };
}

function readParameter(name: string, place: string, node: JsonObject, around: Surroundings): Parameter {
  const content = node["content"];
  const media = isJsonObject(content) ? content[Object.keys(content).sort()[0] ?? ""] : undefined;
  const types = isJsonObject(content) ? sortText(Object.keys(content)).join(" ") : "";
  const style = around.swagger
    ? text(node["collectionFormat"])
    : `${text(node["style"])}${node["explode"] === undefined ? "" : canonicalJson(node["explode"])}${types}`;
  return {
    name,
    in: place === "formData" ? "form" : place,
    required: node["required"] === true || place === "path",
    schema: around.swagger ? node : (node["schema"] ?? (isJsonObject(media) ? media["schema"] : undefined) ?? true),
    style,
    allowEmpty: node["allowEmptyValue"] === true,
    allowReserved: node["allowReserved"] === true,
    deprecated: node["deprecated"] === true,
    // In the oldest dialect a parameter is its own schema, and what is left of it is compared as one.
    rest: around.swagger ? "" : printRest(node, parameterKeywords),
  };
}

function consumed(node: JsonObject, around: Surroundings): readonly string[] {
  const own = texts(node["consumes"]);
  const types = own.length > 0 ? own : around.consumes;
  return sortText(types.length > 0 ? types.map(mediaName) : ["application/json"]);
}

function readBody(node: JsonValue | undefined, pointer: string, around: Surroundings): Body | null {
  const body = around.references.follow(node, `${pointer}/requestBody`)?.node;
  if (body === undefined) return null;
  const content = body["content"];
  return {
    required: body["required"] === true,
    media: readMedia(content),
    encodings: readEncodings(content),
    rest: printRest(body, bodyKeywords),
  };
}

function readEncodings(content: JsonValue | undefined): ReadonlyMap<string, string> {
  const encodings = new Map<string, string>();
  for (const [type, entry] of isJsonObject(content) ? Object.entries(content) : []) {
    if (!isJsonObject(entry)) continue;
    const encoding = entry["encoding"] === undefined ? "" : canonicalJson(entry["encoding"]);
    const told = encoding + printRest(entry, mediaKeywords);
    if (told !== "") encodings.set(mediaName(type), told);
  }
  return encodings;
}

function readMedia(content: JsonValue | undefined): ReadonlyMap<string, JsonValue> {
  const media = new Map<string, JsonValue>();
  if (!isJsonObject(content)) return media;
  for (const type of Object.keys(content).sort()) {
    const entry = content[type];
    media.set(mediaName(type), (isJsonObject(entry) ? entry["schema"] : undefined) ?? true);
  }
  return media;
}

function mediaName(type: string): string {
  return type.toLowerCase().replaceAll(" ", "");
}

function readAnswers(node: JsonObject, pointer: string, around: Surroundings): ReadonlyMap<string, Answer> {
  const answers = new Map<string, Answer>();
  const declared = node["responses"];
  if (!isJsonObject(declared)) {
    around.troubles.add("document_invalid", node, `${pointer}/responses`, "an operation needs responses");
    return answers;
  }
  const own = texts(node["produces"]);
  const produces = sortText((own.length > 0 ? own : around.produces).map(mediaName));
  for (const status of Object.keys(declared).sort()) {
    if (status.startsWith("x-")) continue;
    const answer = around.references.follow(declared[status], `${pointer}/responses${encodePointer(status)}`)?.node;
    if (answer === undefined) continue;
    const schema = answer["schema"];
    const media = around.swagger
      ? new Map<string, JsonValue>(
          schema === undefined
            ? []
            : (produces.length > 0 ? produces : ["application/json"]).map((type) => [type, schema]),
        )
      : readMedia(answer["content"]);
    answers.set(status, {
      media,
      encodings: readEncodings(answer["content"]),
      headers: readHeaders(answer["headers"], around),
      links: readLinks(answer["links"], around),
      rest: printRest(answer, answerKeywords),
    });
  }
  return answers;
}

function readHeaders(declared: JsonValue | undefined, around: Surroundings): ReadonlyMap<string, Parameter> {
  const headers = new Map<string, Parameter>();
  if (!isJsonObject(declared)) return headers;
  for (const name of Object.keys(declared).sort()) {
    const header = around.references.follow(declared[name], "")?.node;
    if (header !== undefined)
      headers.set(name.toLowerCase(), readParameter(name.toLowerCase(), "header", header, around));
  }
  return headers;
}

/** What a link says is its target and what it hands over, body and server too: all steer a later request. */
function readLinks(declared: JsonValue | undefined, around: Surroundings): ReadonlyMap<string, string> {
  const links = new Map<string, string>();
  if (!isJsonObject(declared)) return links;
  for (const name of Object.keys(declared).sort()) {
    const link = around.references.follow(declared[name], "")?.node;
    if (link === undefined) continue;
    const target = text(link["operationId"]) || text(link["operationRef"]);
    links.set(name, `${target} ${canonicalJson(link["parameters"] ?? {})}${printRest(link, linkKeywords)}`);
  }
  return links;
}

function readCallbacks(
  declared: JsonValue | undefined,
  pointer: string,
  around: Surroundings,
): ReadonlyMap<string, ApiOperation> {
  const found = new Map<string, ApiOperation>();
  for (const name of isJsonObject(declared) ? Object.keys(declared).sort() : []) {
    const callback = around.references.follow(
      isJsonObject(declared) ? declared[name] : undefined,
      `${pointer}/callbacks${encodePointer(name)}`,
    )?.node;
    for (const [expression, item] of Object.entries(callback ?? {})) {
      if (expression.startsWith("x-")) continue;
      for (const [key, operation] of readCalls(`${name} to ${expression}`, item, around)) found.set(key, operation);
    }
  }
  return found;
}

/**
 * What the provider calls, as an operation that the other side serves. Its own servers, and what it in turn calls, are kept
 * as text: no reader follows them, and callbacks may name each other in a circle.
 */
export function readCalls(
  key: string,
  declared: JsonValue | undefined,
  around: Surroundings,
): readonly (readonly [key: string, operation: ApiOperation])[] {
  const item = around.references.follow(declared, "")?.node;
  if (item === undefined) return [];
  return METHODS.flatMap((method) => {
    const node = item[method];
    if (!isJsonObject(node)) return [];
    const { callbacks = null, servers = null, ...own } = node;
    const inherits = { ...around, security: undefined };
    const read = readOperation(method, key, item, { responses: {}, ...own }, inherits);
    const apart = [callbacks, servers, item["servers"] ?? null];
    const rest = read.rest + (apart.every((one) => one === null) ? "" : canonicalJson(apart));
    return [[method === "post" ? key : `${key} (${method.toUpperCase()})`, { ...read, rest }] as const];
  });
}

export function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

export function texts(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
