import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { ServerVariable } from "./api.ts";
import { printRest, serverKeywords, variableKeywords } from "./keywords.ts";
import { sortText } from "./order.ts";

const COMBINATIONS = 64;

/** Every address the document offers, variables filled in: a region gained in an enum is a host gained. */
export function readServers(node: JsonObject, swagger: boolean): readonly string[] | undefined {
  if (swagger) return swaggerServers(node);
  const servers = node["servers"];
  if (!Array.isArray(servers)) return undefined;
  const found = servers.flatMap((server: JsonValue) => (isJsonObject(server) ? expand(server) : []));
  return found.length === 0 ? undefined : sortText(found.map(trim));
}

/** What fills the addresses: a list of values that is gone means that anything may stand there. */
export function readServerVariables(node: JsonObject): readonly ServerVariable[] {
  const servers = Array.isArray(node["servers"]) ? node["servers"] : [];
  return servers.flatMap((server: JsonValue) => {
    if (!isJsonObject(server)) return [];
    const url = typeof server["url"] === "string" ? server["url"] : "/";
    const variables = isJsonObject(server["variables"]) ? server["variables"] : {};
    const found = Object.entries(variables).flatMap(([name, variable]) => {
      if (!isJsonObject(variable)) return [];
      const { enum: listed, default: given } = variable;
      const values = Array.isArray(listed) ? sortText(listed.filter((value) => typeof value === "string")) : null;
      const fallback = typeof given === "string" ? given : null;
      return [{ url, name, values, fallback, rest: printRest(variable, variableKeywords) }];
    });
    return [{ url, name: null, values: null, fallback: null, rest: printRest(server, serverKeywords) }, ...found];
  });
}

function swaggerServers(root: JsonObject): readonly string[] | undefined {
  const host = root["host"];
  const base = typeof root["basePath"] === "string" ? root["basePath"] : "";
  if (typeof host !== "string") return base === "" ? undefined : [trim(base)];
  const listed = root["schemes"];
  const schemes = Array.isArray(listed) && listed.length > 0 ? listed : ["https"];
  return sortText(
    schemes.map((scheme: JsonValue) => trim(`${String(scheme).toLowerCase()}://${host.toLowerCase()}${base}`)),
  );
}

function expand(server: JsonObject): readonly string[] {
  const url = typeof server["url"] === "string" ? server["url"] : "/";
  const variables = isJsonObject(server["variables"]) ? server["variables"] : {};
  let urls = [url];
  for (const name of Object.keys(variables).sort()) {
    const variable = variables[name];
    if (!isJsonObject(variable)) continue;
    const listed = Array.isArray(variable["enum"]) ? variable["enum"].filter((value) => typeof value === "string") : [];
    const values = listed.length > 0 ? listed : typeof variable["default"] === "string" ? [variable["default"]] : [];
    // Too many combinations to list: the template with its variable stands for all of them.
    if (values.length === 0 || urls.length * values.length > COMBINATIONS) continue;
    urls = urls.flatMap((known) => values.map((value) => known.replaceAll(`{${name}}`, value)));
  }
  return urls;
}

function trim(url: string): string {
  let end = url.length;
  while (end > 1 && url.charAt(end - 1) === "/") end--;
  return url.slice(0, end);
}

/** `https://host`, or an empty text where the address is relative to where the document was found. */
export function originOf(server: string): string {
  const found = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)/i.exec(server)?.[1];
  return found === undefined ? "" : found.toLowerCase();
}

export function basePathOf(server: string): string {
  const origin = originOf(server);
  const rest = server.slice(origin.length);
  return rest === "/" ? "" : rest;
}
