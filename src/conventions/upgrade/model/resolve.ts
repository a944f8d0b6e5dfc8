import { appendPointer, memberOf, readToken } from "../../../../packages/request/src/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import type { Troubles } from "./trouble.ts";

export interface Resolved {
  readonly node: JsonObject;
  /** The component's name when the last reference led to one. */
  readonly name: string | null;
}

/** Follows references inside one document. What leads out of it is never opened; it is a trouble with a place. */
export interface References {
  follow(node: JsonValue | undefined, pointer: string): Resolved | undefined;
}

const NAMED = /^#\/(?:components\/schemas|definitions)\/([^/]+)$/;

export function createReferences(root: JsonObject, troubles: Troubles): References {
  const known = new Map<string, Resolved | undefined>();

  /** Every reference on the way ends where the first one does, so that long chains are walked once. */
  const target = (reference: string, from: JsonObject, pointer: string): Resolved | undefined => {
    if (known.has(reference)) return known.get(reference);
    const passed = new Set<string>();
    const found = walk(reference, from, pointer, passed);
    for (const one of passed) known.set(one, found);
    return found;
  };

  const walk = (reference: string, from: JsonObject, pointer: string, passed: Set<string>): Resolved | undefined => {
    let next = reference;
    for (;;) {
      if (known.has(next)) return known.get(next);
      const again = passed.has(next);
      passed.add(next);
      if (!next.startsWith("#")) {
        troubles.add("reference_remote", from, pointer, `${show(next)} leads out of this document and is not fetched`);
        return undefined;
      }
      if (again) {
        troubles.add("reference_broken", from, pointer, `${show(reference)} leads only back to itself`);
        return undefined;
      }
      const node = lookUp(root, next);
      if (!isJsonObject(node)) {
        troubles.add("reference_broken", from, pointer, `${show(next)} points at nothing in this document`);
        return undefined;
      }
      const onward = node["$ref"];
      if (typeof onward !== "string") {
        const name = NAMED.exec(next)?.[1];
        return { node, name: name === undefined ? null : (decodeSegment(name) ?? name) };
      }
      next = onward;
    }
  };

  return {
    follow(node, pointer) {
      if (!isJsonObject(node)) return undefined;
      const reference = node["$ref"];
      if (typeof reference !== "string") return { node, name: null };
      return target(reference, node, pointer);
    },
  };
}

function lookUp(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let node: JsonValue | undefined = root;
  for (const raw of reference.slice(2).split("/")) {
    const segment = decodeSegment(raw);
    if (segment === undefined) return undefined;
    node = memberOf(node, segment);
  }
  return node;
}

function decodeSegment(raw: string): string | undefined {
  try {
    return readToken(decodeURIComponent(raw));
  } catch {
    return undefined;
  }
}

export function encodePointer(...segments: readonly string[]): string {
  return segments.reduce(appendPointer, "");
}

function show(reference: string): string {
  return JSON.stringify(reference.length > 120 ? `${reference.slice(0, 117)}...` : reference);
}
