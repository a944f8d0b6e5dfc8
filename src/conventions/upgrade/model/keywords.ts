import { canonicalJson, digestText } from "../../../kernel/canonical-json.ts";
import type { JsonObject } from "../../../kernel/json.ts";

/**
 * Every keyword of each kind of object in a document, and which way its change goes. A keyword that no row names is compared all the same, as one whose change a person must judge: nothing that a provider writes is passed over.
 */
export type Direction =
  /** A larger number lets more through, and none lets everything. */
  | "up"
  /** A smaller number lets more through, and none lets everything. */
  | "down"
  /** Without it more is let through; two of them cannot be ordered. */
  | "less"
  /** Any change is one of meaning. */
  | "judge"
  /** Compared member by member, with words of its own. */
  | "own"
  /** Says nothing about what is taken or given. */
  | "prose";

export type KeywordRows = Readonly<Record<string, Direction>>;

function rows(table: { readonly [Way in Direction]?: string }): KeywordRows {
  return Object.freeze(
    Object.fromEntries(
      Object.entries(table).flatMap(([way, names]) =>
        names.split(/\s+/).map((name): [string, Direction] => [name, way as Direction]),
      ),
    ),
  );
}

/** JSON Schema 2020-12 and its elders, with what the three dialects of OpenAPI add. */
export const schemaKeywords: KeywordRows = rows({
  up: "maximum exclusiveMaximum maxLength maxItems maxProperties maxContains",
  down: "minimum exclusiveMinimum minLength minItems minProperties minContains",
  less: `multipleOf pattern uniqueItems contentEncoding contentMediaType contentSchema not contains propertyNames
    dependentRequired dependentSchemas dependencies unevaluatedItems additionalItems`,
  judge: "if then else patternProperties prefixItems discriminator xml deprecated $dynamicRef $recursiveRef",
  own: `type enum const default nullable x-nullable format properties required additionalProperties
    unevaluatedProperties items oneOf anyOf allOf $ref readOnly writeOnly`,
  prose: `description title summary example examples externalDocs $comment $id $schema $anchor $dynamicAnchor
    $recursiveAnchor $vocabulary $defs definitions id`,
});

/** In the oldest dialect a parameter is a schema too, and these of its members are none of the schema's. */
const besides = "name in schema content style explode allowReserved allowEmptyValue collectionFormat";

export const parameterKeywords: KeywordRows = rows({
  own: `${besides} required $ref deprecated`,
  prose: "description example examples summary",
});

const endpoints = "authorizationUrl tokenUrl refreshUrl deviceAuthorizationUrl scopes";

export const schemeKeywords: KeywordRows = rows({
  own: `type name in scheme bearerFormat flows flow ${endpoints} openIdConnectUrl $ref`,
  prose: "description summary",
});
export const flowKeywords: KeywordRows = rows({ own: endpoints });

export const serverKeywords: KeywordRows = rows({ own: "url variables", prose: "description name" });
export const variableKeywords: KeywordRows = rows({ own: "enum default", prose: "description" });

const methods = "get put post delete options head patch trace";

/** Of the document itself, in any dialect. */
export const rootKeywords: KeywordRows = rows({
  own: `openapi swagger info servers host basePath schemes consumes produces paths webhooks security securityDefinitions
    components definitions parameters responses`,
  judge: "jsonSchemaDialect",
  prose: "tags externalDocs",
});
export const pathKeywords: KeywordRows = rows({
  own: `$ref servers parameters ${methods}`,
  prose: "summary description",
});
export const operationKeywords: KeywordRows = rows({
  own: `operationId parameters requestBody responses callbacks deprecated security servers consumes produces schemes
    summary description`,
  prose: "tags externalDocs",
});
export const bodyKeywords: KeywordRows = rows({ own: "content required $ref", prose: "description summary" });
export const mediaKeywords: KeywordRows = rows({ own: "schema encoding", prose: "example examples" });
export const answerKeywords: KeywordRows = rows({
  own: "content headers links schema $ref",
  prose: "description summary examples",
});
export const linkKeywords: KeywordRows = rows({
  own: "operationId operationRef parameters $ref",
  judge: "requestBody server",
  prose: "description summary",
});

/** Members that no reader of ours looks at by name, as text: unlike texts mean that something changed. */
export function printRest(node: JsonObject, table: KeywordRows): string {
  const read = (name: string): boolean => Object.hasOwn(table, name) && table[name] !== "judge";
  const rest = Object.keys(node).filter((name) => !read(name) && !name.startsWith("x-"));
  return rest.length === 0
    ? ""
    : canonicalJson(Object.fromEntries(rest.sort().map((name) => [name, node[name] ?? null])));
}

/** The bounds of a schema by keyword: numbers and texts as they are, whole schemas by their digest. */
export function readBounds(node: JsonObject): Map<string, string> {
  const bounds = new Map<string, string>();
  for (const name of Object.keys(node)) {
    const value = node[name];
    const way = isOpaqueHere(name, node)
      ? "judge"
      : Object.hasOwn(schemaKeywords, name)
        ? schemaKeywords[name]
        : directionOfOther(name);
    if (way === undefined || way === "own" || way === "prose" || value === undefined || value === false) continue;
    if (value === true && name.startsWith("exclusive")) continue;
    const text = canonicalJson(value);
    bounds.set(name, typeof value === "object" ? digestText(text).slice(0, 19) : text);
  }
  // `exclusiveMinimum` is a flag in the older dialects and a number in the newest.
  for (const [flag, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    const held = bounds.get(limit);
    if (node[flag] !== true || held === undefined) continue;
    bounds.set(flag, held);
    bounds.delete(limit);
  }
  return bounds;
}

/** A list of schemas by place, and what `additionalProperties` already answers: compared whole, not member by member. */
function isOpaqueHere(name: string, node: JsonObject): boolean {
  if (name === "items") return Array.isArray(node["items"]);
  return name === "unevaluatedProperties" && node["additionalProperties"] !== undefined;
}

const BESIDES = new Set(besides.split(" "));

function directionOfOther(name: string): Direction | undefined {
  return name.startsWith("x-") || BESIDES.has(name) ? undefined : "judge";
}

/** A bound that moved outward or fell away. Undefined when the two cannot be ordered. */
export function isWiderBound(name: string, before: string | undefined, after: string | undefined): boolean | undefined {
  const way = name === "required" ? "less" : (schemaKeywords[name] ?? "judge");
  if (way === "judge") return undefined;
  if (after === undefined) return true;
  if (before === undefined) return false;
  const [old, next] = [Number(before), Number(after)];
  if (way === "less" || Number.isNaN(old) || Number.isNaN(next)) return undefined;
  return way === "up" ? next > old : next < old;
}
