import { canonicalJson } from "../../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { describeRequirement, type Requirement, type Scheme } from "./api.ts";
import { flowKeywords, printRest, schemeKeywords } from "./keywords.ts";
import { sortText } from "./order.ts";
import type { References } from "./resolve.ts";
import { encodePointer } from "./resolve.ts";
import type { Troubles } from "./trouble.ts";

export function readSchemes(
  declared: JsonValue | undefined,
  references: References,
  pointer: string,
): ReadonlyMap<string, Scheme> {
  const schemes = new Map<string, Scheme>();
  if (!isJsonObject(declared)) return schemes;
  for (const name of Object.keys(declared).sort()) {
    const node = references.follow(declared[name], pointer + encodePointer(name))?.node;
    if (node !== undefined) schemes.set(name, readScheme(name, node));
  }
  return schemes;
}

function readScheme(name: string, node: JsonObject): Scheme {
  const type = text(node["type"]);
  const flows = isJsonObject(node["flows"]) ? node["flows"] : type === "oauth2" ? { [text(node["flow"])]: node } : {};
  const scopes: string[] = [];
  const endpoints: string[] = [];
  const rest = [printRest(node, schemeKeywords)];
  for (const [flow, settings] of Object.entries(flows)) {
    if (!isJsonObject(settings)) continue;
    if (settings !== node) rest.push(printRest(settings, flowKeywords));
    if (isJsonObject(settings["scopes"])) scopes.push(...Object.keys(settings["scopes"]));
    for (const member of ["authorizationUrl", "tokenUrl", "refreshUrl", "deviceAuthorizationUrl"]) {
      if (settings[member] !== undefined) endpoints.push(`${flow} ${member} ${text(settings[member])}`);
    }
  }
  if (node["openIdConnectUrl"] !== undefined) endpoints.push(`openIdConnectUrl ${text(node["openIdConnectUrl"])}`);
  return {
    name,
    kind: kindOf(type, node),
    scopes: sortText(scopes),
    endpoints: sortText(endpoints),
    bearerFormat: typeof node["bearerFormat"] === "string" ? node["bearerFormat"] : null,
    rest: rest.join(""),
  };
}

function kindOf(type: string, node: JsonObject): string {
  switch (type) {
    case "http":
      return text(node["scheme"]).toLowerCase();
    case "apiKey": {
      const name = text(node["name"]);
      return `apiKey ${text(node["in"])} ${text(node["in"]) === "header" ? name.toLowerCase() : name}`;
    }
  }
  return type;
}

/** Undefined when the place says nothing about security, which is not the same as an empty list. */
export function readRequirements(
  declared: JsonValue | undefined,
  schemes: ReadonlyMap<string, Scheme>,
  troubles: Troubles,
  pointer: string,
): readonly Requirement[] | undefined {
  if (!Array.isArray(declared)) return undefined;
  const found = new Map<string, Requirement>();
  for (const [index, node] of declared.entries()) {
    if (!isJsonObject(node)) {
      troubles.add("document_invalid", declared, `${pointer}/${index}`, "a security requirement must be an object");
      continue;
    }
    const requirement = Object.keys(node)
      .sort()
      .map((scheme) => {
        if (!schemes.has(scheme)) {
          troubles.add(
            "document_invalid",
            node,
            `${pointer}/${index}`,
            `no security scheme is called ${JSON.stringify(scheme)}`,
          );
        }
        const scopes = node[scheme];
        return { scheme, scopes: Array.isArray(scopes) ? sortText(scopes.map(spell)) : [] };
      });
    found.set(describeRequirement(requirement), requirement);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, requirement]) => requirement);
}

/** What is no text is no scope that anybody could have: it is compared by how it is written. */
function spell(scope: JsonValue): string {
  return typeof scope === "string" ? scope : canonicalJson(scope);
}

function text(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
