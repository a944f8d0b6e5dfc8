import { appendPointer, pointerNames } from "../../../packages/request/src/pointer.ts";
import { compileSchema, type JsonSchema } from "../../../packages/request/src/schema.ts";
import { type Digest, digestBytes } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import { Findings } from "./findings.ts";
import { lintAction } from "./lint-action.ts";
import { lintOverlap } from "./lint-overlap.ts";
import { lintPreview } from "./lint-preview.ts";
import { lintReferences } from "./lint-references.ts";
import type { ActionDefinition, Pack, PackFinding, Provider } from "./pack.ts";
import { readAction } from "./read-action.ts";
import { lintCallbacks } from "./read-callbacks.ts";
import { readProvider } from "./read-provider.ts";
import { readYaml } from "./read-yaml.ts";
import { type ActionWire, type ProviderWire, packSchema } from "./schema/pack.ts";

export interface PackReading {
  /** Null when any finding is an error. */
  readonly pack: Pack | null;
  readonly digest: Digest;
  readonly findings: readonly PackFinding[];
}

const checkPack = compileSchema(packSchema);
const ACTION_NAME = /^[a-z][a-z0-9_]{0,63}(?:\.[a-z][a-z0-9_]{0,63}){0,3}$/;

/** Reads and lints one pack file. Everything found is reported together, in the order of the file. */
export function readPack(bytes: Uint8Array, file: string): PackReading {
  const findings = new Findings(file);
  const digest = digestBytes(bytes);
  const pack = readChecked(bytes, digest, findings);
  const list = [...findings.list].sort((a, b) => a.line - b.line || a.column - b.column);
  return { pack: findings.failed ? null : pack, digest, findings: list };
}

function readChecked(bytes: Uint8Array, digest: Digest, findings: Findings): Pack | null {
  const reading = readYaml(bytes, findings);
  if (reading === null) return null;
  const shape = checkPack(reading.value);
  for (const { code, path, message } of shape) {
    findings.error(code, path, code === "unknown_member" ? `${message}; expected ${expectedAt(path)}` : message);
  }
  // Where the schema stopped counting there may be more, and the readers below trust the shape they are given.
  if (shape.length >= defaults.schemaFindings) return null;
  const document = reading.value;
  if (!isJsonObject(document)) return null;
  const provider = readProviderPart(document, findings);
  const { pack: name, actions: wires, description } = document;
  if (!isJsonObject(wires)) return null;
  const actions = readActions(wires, typeof name === "string" ? name : "", provider, findings);
  if (typeof name !== "string") return null;
  return { name, digest, description: typeof description === "string" ? description : null, provider, actions };
}

function readProviderPart(document: JsonObject, findings: Findings): Provider | null {
  const wire = document["provider"];
  if (wire === undefined || findings.failedAround("/provider")) return null;
  return readProvider(wire as ProviderWire, findings);
}

function readActions(
  wires: JsonObject,
  pack: string,
  provider: Provider | null,
  findings: Findings,
): ReadonlyMap<string, ActionDefinition> {
  const names = new Set(Object.keys(wires));
  if (names.size === 0) findings.error("value_not_allowed", "/actions", "a pack has at least one action");
  const actions = new Map<string, ActionDefinition>();
  for (const name of names) {
    const path = appendPointer("/actions", name);
    if (!ACTION_NAME.test(name))
      findings.error(
        "value_not_allowed",
        path,
        "an action's name is lower-case words, parted by dots, such as membership.plan",
      );
    lintOptions(wires[name], path, findings);
    if (findings.failedAround(path)) continue;
    const action = readAction(wires[name] as ActionWire, { pack, name, provider, path, findings });
    if (action !== null) actions.set(name, action);
  }
  const resolved = new Map<string, ActionDefinition>();
  for (const [name, action] of actions) {
    const path = appendPointer("/actions", name);
    const context = { actions, names, findings, correlation: provider?.correlationHeader ?? null };
    lintAction(action, path, context);
    lintPreview(action, path, context);
    resolved.set(name, lintReferences(action, path, context));
  }
  lintOverlap(resolved, findings);
  lintCallbacks(provider?.callbacks ?? null, actions, findings);
  return resolved;
}

/** OPTIONS is no method of an action; a preview by it deserves its own words. */
function lintOptions(wire: JsonValue | undefined, path: string, findings: Findings): void {
  const request = isJsonObject(wire) ? wire["request"] : undefined;
  if (!isJsonObject(request) || request["method"] !== "OPTIONS") return;
  findings.error(
    "pack_preview_unsafe",
    `${path}/request/method`,
    "OPTIONS asks a server about itself and is never a preview; use a plan endpoint",
  );
}

/** The members that the schema knows where a pointer's last one was not among them. */
function expectedAt(path: string): string {
  let schema: JsonSchema | undefined = packSchema;
  for (const token of pointerNames(path).slice(0, -1)) {
    const members: JsonSchema["properties"] = schema?.properties;
    const other: JsonSchema["additionalProperties"] = schema?.additionalProperties;
    schema =
      members !== undefined && Object.hasOwn(members, token)
        ? members[token]
        : (schema?.items ?? (typeof other === "object" ? other : undefined));
  }
  return Object.keys(schema?.properties ?? {}).join(", ") || "none";
}
