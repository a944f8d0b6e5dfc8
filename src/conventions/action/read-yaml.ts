import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, type ParsedNode, parseDocument } from "yaml";
import { appendPointer } from "../../../packages/request/src/pointer.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Findings, Places, Position } from "./findings.ts";

/**
 * Reads YAML as plain data: no aliases, anchors, tags, merge keys, directives, second documents or repeated keys.
 * What is left means the same to every reader, and is no larger than what a person sees.
 */
export function readYaml(bytes: Uint8Array, findings: Findings): { readonly value: JsonValue } | null {
  if (bytes.byteLength > defaults.packBytes) {
    findings.error("pack_too_large", "", `the file has ${bytes.byteLength} bytes; the limit is ${defaults.packBytes}`);
    return null;
  }
  const text = decodeText(bytes);
  if (text === null) {
    findings.error("pack_malformed", "", "expected UTF-8 text");
    return null;
  }
  const hidden = text.search(HIDDEN);
  if (hidden >= 0) {
    const before = text.slice(0, hidden).split("\n");
    const at = { line: before.length, column: (before.at(-1) ?? "").length + 1 };
    findings.errorAt("pack_malformed", at, "", "control and invisible characters are not accepted");
    return null;
  }
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    strict: true,
    merge: false,
    stringKeys: true,
    // Ours is linear and tells both places; the library's compares each key with all others.
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error",
    lineCounter: lines,
  });
  const walk = new Walk(findings, lines);
  for (const trouble of [...document.errors, ...document.warnings].slice(0, defaults.packFindings)) {
    const code = trouble.code === "TAG_RESOLVE_FAILED" ? "pack_alias_refused" : "pack_malformed";
    findings.errorAt(code, walk.positionOf(trouble.pos[0]), "", trouble.message);
  }
  if (/^%/m.test(text)) findings.error("pack_malformed", "", "YAML directives are not accepted");
  if (document.errors.length > 0) return null;
  const value = walk.convert(document.contents, "", 0);
  findings.places = walk;
  return { value };
}

// A reviewer must read the file as the parser does: no control, bidi or invisible characters.
const HIDDEN = /(?![\t\n\r])[\p{Cc}\p{Cf}]/u;

// Octal, hexadecimal and leading zeros are read differently by readers of other YAML versions; 1.0 is no integer.
const INTEGER = /^(?:0|-?[1-9]\d*)$/;
const FRACTION = /^-?(?:0|[1-9]\d*)\.\d+$/;

class Walk implements Places {
  readonly keys = new Map<string, Position>();
  readonly values = new Map<string, Position>();
  readonly #findings: Findings;
  readonly #lines: LineCounter;

  constructor(findings: Findings, lines: LineCounter) {
    this.#findings = findings;
    this.#lines = lines;
  }

  positionOf(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  }

  convert(node: ParsedNode | null, path: string, depth: number): JsonValue {
    if (node === null) return null;
    const at = this.positionOf(node.range[0]);
    this.values.set(path, at);
    if (depth > defaults.packDepth) {
      this.#refuse("pack_malformed", at, path, `nests deeper than ${defaults.packDepth}`);
      return null;
    }
    this.#refuseDecoration(node, at, path);
    if (isMap(node)) return this.#convertMap(node.items, path, depth);
    if (isSeq(node))
      return node.items.map((item, index) => this.convert(item as ParsedNode, `${path}/${index}`, depth + 1));
    if (isScalar(node)) return this.#convertScalar(node.value, node.source, at, path);
    return null;
  }

  #convertMap(
    items: readonly { readonly key: unknown; readonly value: unknown }[],
    path: string,
    depth: number,
  ): JsonObject {
    const object: Record<string, JsonValue> = Object.create(null) as Record<string, JsonValue>;
    for (const { key, value } of items) {
      if (!isScalar(key) || typeof key.value !== "string") continue;
      const name = key.value;
      const member = appendPointer(path, name);
      const at = this.positionOf(key.range?.[0] ?? 0);
      this.#refuseDecoration(key, at, member);
      if (!name.isWellFormed()) this.#refuse("pack_malformed", at, path, "a key holds a lone surrogate");
      const before = this.keys.get(member);
      if (before !== undefined) {
        this.#refuse("pack_duplicate_key", at, member, `"${name}" was already set on line ${before.line}`);
        continue;
      }
      this.keys.set(member, at);
      object[name] = this.convert(value as ParsedNode | null, member, depth + 1);
    }
    return object;
  }

  #convertScalar(value: unknown, source: string | undefined, at: Position, path: string): JsonValue {
    if (typeof value === "string") {
      if (!value.isWellFormed()) this.#refuse("pack_malformed", at, path, "text holds a lone surrogate");
      return value;
    }
    if (typeof value === "number") {
      if (
        !(Number.isInteger(value) ? INTEGER : FRACTION).test(source ?? "") ||
        Math.abs(value) > Number.MAX_SAFE_INTEGER
      ) {
        this.#refuse(
          "value_not_allowed",
          at,
          path,
          "expected a plain decimal number that can be held exactly; quote it if it is an identifier",
        );
      }
      return value;
    }
    if (typeof value === "boolean" || value === null) return value;
    this.#refuse("pack_malformed", at, path, "expected text, a number, true, false or null");
    return null;
  }

  #refuseDecoration(node: Node, at: Position, path: string): void {
    if (isAlias(node)) this.#refuse("pack_alias_refused", at, path, "aliases are not accepted; write the value out");
    else if (node.anchor !== undefined)
      this.#refuse("pack_alias_refused", at, path, "anchors are not accepted; remove it");
    else if (node.tag !== undefined)
      this.#refuse("pack_alias_refused", at, path, "tags are not accepted; quote text instead");
  }

  #refuse(
    code: "pack_malformed" | "pack_alias_refused" | "pack_duplicate_key" | "value_not_allowed",
    at: Position,
    path: string,
    message: string,
  ): void {
    this.#findings.errorAt(code, at, path, message);
  }
}

function decodeText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
