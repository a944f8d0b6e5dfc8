import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, parseDocument, type Scalar } from "yaml";
import type { JsonValue } from "../../../kernel/json.ts";
import { type ReadLimits, SyntaxTrouble } from "./source.ts";

/**
 * YAML 1.2 in the core schema, held to what JSON can say: no tags, no merge keys, no keys but scalars, no cyclic
 * anchors. An alias shares its target and still counts as often as it is named: a small text cannot become a large value.
 */
export function readYaml(
  text: string,
  limits: ReadLimits,
  remember: (node: object, offset: number) => void,
): JsonValue {
  checkNesting(text, limits.depth);
  const document = parse(text);
  const trouble = document.errors[0];
  if (trouble !== undefined) throw new SyntaxTrouble("malformed", trouble.pos[0], firstLine(trouble.message));

  let nodes = 0;
  const anchors = new Map<string, { readonly value: JsonValue; readonly size: number }>();
  const open = new Set<string>();

  const convert = (node: Node | null, depth: number, at: number): JsonValue => {
    if (depth > limits.depth) throw new SyntaxTrouble("too_deep", at, `more than ${limits.depth} levels`);
    if (++nodes > limits.nodes) throw new SyntaxTrouble("too_many", at, `more than ${limits.nodes} values`);
    if (node === null) return null;
    const offset = node.range?.[0] ?? at;
    if (isAlias(node)) return follow(node, offset);
    const tag = node.tag;
    if (tag !== undefined && !tag.startsWith("tag:yaml.org,2002:")) {
      throw new SyntaxTrouble("malformed", offset, "a custom tag has no meaning here");
    }
    const anchor = "anchor" in node ? node.anchor : undefined;
    const before = nodes;
    if (anchor !== undefined) open.add(anchor);
    const found = isScalar(node) ? scalar(node, offset) : collection(node, depth, offset);
    if (anchor !== undefined) {
      open.delete(anchor);
      anchors.set(anchor, { value: found, size: nodes - before + 1 });
    }
    return found;
  };

  const follow = (alias: Alias, offset: number): JsonValue => {
    if (open.has(alias.source)) throw new SyntaxTrouble("malformed", offset, `the anchor ${alias.source} holds itself`);
    const target = anchors.get(alias.source);
    if (target === undefined) throw new SyntaxTrouble("malformed", offset, `no anchor is called ${alias.source}`);
    nodes += target.size;
    if (nodes > limits.nodes) throw new SyntaxTrouble("too_many", offset, `more than ${limits.nodes} values`);
    return target.value;
  };

  const collection = (node: Node, depth: number, offset: number): JsonValue => {
    if (isSeq(node)) {
      const items: JsonValue[] = [];
      remember(items, offset);
      for (const item of node.items) items.push(convert(item as Node | null, depth + 1, offset));
      return items;
    }
    if (!isMap(node)) throw new SyntaxTrouble("malformed", offset, "this kind of value is not understood");
    const members = Object.create(null) as Record<string, JsonValue>;
    remember(members, offset);
    for (const pair of node.items) {
      const key = pair.key as Node | null;
      const keyAt = key?.range?.[0] ?? offset;
      if (!isScalar(key)) throw new SyntaxTrouble("malformed", keyAt, "a member name must be plain text");
      // `200:` is a status and `null:` a name; what the author typed is the name.
      const name = key.source ?? String(key.value);
      if (name === "<<")
        throw new SyntaxTrouble("malformed", keyAt, "merge keys are not YAML 1.2; write the members out");
      if (!name.isWellFormed()) throw new SyntaxTrouble("malformed", keyAt, "a name holds half a surrogate pair");
      if (name in members) {
        throw new SyntaxTrouble("duplicate", keyAt, `the member ${JSON.stringify(name)} stands here a second time`);
      }
      members[name] = convert(pair.value as Node | null, depth + 1, keyAt);
    }
    return members;
  };

  return convert(document.contents, 1, 0);
}

function parse(text: string): ReturnType<typeof parseDocument> {
  try {
    // The package compares every key of a map with every other when asked for unique keys; `convert` does it in one pass.
    return parseDocument(text, {
      version: "1.2",
      schema: "core",
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "error",
    });
  } catch (error) {
    if (error instanceof RangeError) throw new SyntaxTrouble("too_deep", 0, "the collections nest too deeply");
    throw error;
  }
}

function scalar(node: Scalar, offset: number): JsonValue {
  const value = node.value;
  switch (typeof value) {
    case "string":
      if (!value.isWellFormed()) throw new SyntaxTrouble("malformed", offset, "a string holds half a surrogate pair");
      return value;
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw new SyntaxTrouble("malformed", offset, "a number must be finite");
  }
  if (value === null) return null;
  throw new SyntaxTrouble("malformed", offset, "this kind of value is not understood");
}

/** A cheap look before the parser, whose cost grows with depth: indentation and brackets both nest. */
function checkNesting(text: string, depth: number): void {
  let brackets = 0;
  let dashes = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x0a) dashes = 0;
    else if (code === 0x5b || code === 0x7b) brackets++;
    else if ((code === 0x5d || code === 0x7d) && brackets > 0) brackets--;
    else if ((code === 0x2d || code === 0x3f) && text.charCodeAt(at + 1) === 0x20) dashes++;
    // Prose holds unmatched brackets and dashes too, so the bound here is far above the one that counts.
    if (brackets > depth * 64 || dashes > depth * 64) {
      throw new SyntaxTrouble("too_deep", at, "the collections nest too deeply");
    }
  }
}

function firstLine(message: string): string {
  return message.split("\n", 1)[0] ?? message;
}
