import { showIdentifier, showText } from "../../kernel/display.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { ActionView } from "../agent/answers.ts";
import { connectAgent } from "../client/agent.ts";
import { answering } from "./answer.ts";
import { type CliIo, type Exit, exits } from "./io.ts";
import { agentDoor, type BaseOptions } from "./options.ts";
import { planPairOf } from "./plan-pair.ts";
import { sayProse } from "./say-prose.ts";

/** `gw actions [PATTERN]`: what can be asked for, with its arguments and a call to copy. It asks nobody anything. */
export function runActions(pattern: string | undefined, options: BaseOptions, io: CliIo): Promise<Exit> {
  return answering(io, async () => {
    const client = connectAgent(agentDoor(options));
    try {
      const all = await client.actions();
      const found = all.filter(({ action }) => matches(action, pattern));
      if (found.length === 0) {
        const what = pattern === undefined ? "No pack is trusted yet" : `No action matches ${showIdentifier(pattern)}`;
        throw new Denied("not_found", `${what}. See all with gw actions, and packs with gw pack list.`);
      }
      if (options.json) io.out(JSON.stringify(found));
      else if (found.length > 1) for (const action of found) sayProse(io, summaryLine(action), 4);
      else for (const line of found.flatMap((action) => actionLines(action, all))) sayProse(io, line, 4);
      return exits.done;
    } finally {
      client.close();
    }
  });
}

/** A name, a beginning that ends in `*`, or any part of a name. */
function matches(action: string, pattern: string | undefined): boolean {
  if (pattern === undefined || action === pattern) return true;
  return pattern.endsWith("*") ? action.startsWith(pattern.slice(0, -1)) : action.includes(pattern);
}

function summaryLine(action: ActionView): string {
  const required = new Set(requiredOf(action));
  const inputs = Object.keys(inputsOf(action)).map((name) => (required.has(name) ? name : `[${name}]`));
  return `${showIdentifier(action.action)}  ${action.effect}  ${inputs.map(showIdentifier).join(" ")}`.trimEnd();
}

function actionLines(action: ActionView, all: readonly ActionView[]): readonly string[] {
  const name = action.action;
  const inputs = Object.entries(inputsOf(action));
  const required = new Set(requiredOf(action));
  const described = action.description === null ? [] : [`  ${showText(action.description)}`];
  return [
    `${showIdentifier(name)}  ${action.effect}`,
    ...described,
    ...inputs.map(([input, schema]) => inputLine(input, schema, required.has(input))),
    exampleLine(action, all),
  ];
}

/** A command to copy, with what has to be given. What changes by a plan takes the arguments of its preview. */
function exampleLine(action: ActionView, all: readonly ActionView[]): string {
  const pair = planPairOf(action, all);
  const asked = pair?.preview ?? action;
  const schemas = inputsOf(asked);
  const given = requiredOf(asked).map((input) => `${input}=${exampleOf(schemas[input] ?? {})}`);
  const words = [pair === null ? "call it: gw call" : "see what it would change: gw plan", action.action, ...given];
  return `  ${words.join(" ")}`;
}

function inputLine(name: string, schema: JsonValue, required: boolean): string {
  const about = isJsonObject(schema) ? schema : {};
  const values = Array.isArray(about["enum"])
    ? `one of ${about["enum"].map(String).join(", ")}`
    : String(about["type"] ?? "any");
  const note = typeof about["description"] === "string" ? `: ${about["description"]}` : "";
  return `  ${showIdentifier(name)}  ${showText(`${values}${required ? "" : ", may be left out"}${note}`)}`;
}

/** Something of the right type to put a real value in its place. */
function exampleOf(schema: JsonValue): string {
  const about = isJsonObject(schema) ? schema : {};
  if (Array.isArray(about["enum"])) return String(about["enum"][0]);
  switch (about["type"]) {
    case "integer":
    case "number":
      return String(about["minimum"] ?? 1);
    case "boolean":
      return "true";
    case "array":
      return "'[]'";
    case "object":
      return "'{}'";
    default:
      return "TEXT";
  }
}

function inputsOf({ input: { properties } }: ActionView): JsonObject {
  return isJsonObject(properties) ? properties : {};
}

function requiredOf({ input: { required } }: ActionView): readonly string[] {
  return Array.isArray(required) ? required.map(String) : [];
}
