import { digestBytes } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonValue } from "../../../kernel/json.ts";
import { readJson } from "./read-json.ts";
import { readYaml } from "./read-yaml.ts";
import { createLocator, type Position, type ReadLimits, type Source, SyntaxTrouble } from "./source.ts";

export const documentLimits: ReadLimits = {
  bytes: defaults.upgradeDocumentBytes,
  depth: defaults.upgradeDocumentDepth,
  nodes: defaults.upgradeDocumentNodes,
};

const codeOf = {
  malformed: "document_malformed",
  duplicate: "document_malformed",
  too_deep: "document_too_large",
  too_many: "document_too_large",
} as const;

/** Bytes of a document, JSON or YAML, become plain data that knows its places. Nothing else is ever opened. */
export function readDocument(name: string, bytes: Uint8Array, limits: ReadLimits = documentLimits): Source {
  if (bytes.byteLength > limits.bytes) {
    throw new Denied("document_too_large", `${name} has ${bytes.byteLength} bytes; ${limits.bytes} are the limit.`);
  }
  const text = decode(name, bytes);
  const locate = createLocator(text);
  const offsets = new WeakMap<object, number>();
  const remember = (node: object, offset: number): void => {
    offsets.set(node, offset);
  };
  const format = formatOf(name, text);
  let root: JsonValue;
  try {
    root = (format === "json" ? readJson : readYaml)(text, limits, remember);
  } catch (error) {
    if (!(error instanceof SyntaxTrouble)) throw error;
    throw new Denied(codeOf[error.kind], `${placed(name, locate(error.offset))}: ${error.message}.`);
  }
  return {
    name,
    format,
    digest: digestBytes(bytes),
    bytes: bytes.byteLength,
    root,
    positionOf: (node) => {
      const offset = offsets.get(node);
      return offset === undefined ? undefined : locate(offset);
    },
  };
}

/** `file:line:column`, which terminals and editors open. */
export function placed(name: string, position: Position | undefined): string {
  return position === undefined ? name : `${name}:${position.line}:${position.column}`;
}

function formatOf(name: string, text: string): Source["format"] {
  if (/\.json$/i.test(name)) return "json";
  if (/\.ya?ml$/i.test(name)) return "yaml";
  return text.trimStart().startsWith("{") ? "json" : "yaml";
}

function decode(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Denied("document_malformed", `${name} is not UTF-8 text.`);
  }
}
