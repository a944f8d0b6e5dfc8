import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";

export type TemplateSegment =
  | { readonly kind: "literal"; readonly text: string }
  /** A `rest` is all the segments that are left, at least one; it stands last. */
  | { readonly kind: "parameter"; readonly name: string; readonly rest?: true };

/** A path of literal segments, single `{name}` segments and at most one final `{name+}`. A final slash, where an API insists on one, is the author's. */
export interface PathTemplate {
  readonly text: string;
  readonly segments: readonly TemplateSegment[];
  readonly parameters: readonly string[];
  readonly trailingSlash: boolean;
  /** What every path of its shape begins with: the text before the first parameter. */
  readonly prefix: string;
}

const LITERAL = /^[A-Za-z0-9\-._~!$&'()*+,;=:@]+$/;
const PARAMETER = /^\{([A-Za-z_][A-Za-z0-9_]*)(\+?)\}$/;

export function parseTemplate(text: string): PathTemplate {
  if (text.length > defaults.urlTemplateCharacters)
    throw malformed(`a path template has at most ${defaults.urlTemplateCharacters} characters`);
  if (!text.startsWith("/")) throw malformed("a path template starts with a slash");
  const trailingSlash = text.endsWith("/");
  const inner = text.slice(1, trailingSlash && text.length > 1 ? -1 : undefined);
  const segments = inner === "" && trailingSlash && text.length === 1 ? [] : inner.split("/").map(parseSegment);
  const parameters: string[] = [];
  for (const [index, segment] of segments.entries()) {
    if (segment.kind !== "parameter") continue;
    if (segment.rest && (index < segments.length - 1 || trailingSlash))
      throw malformed(`{${segment.name}+} takes all that is left of the path, so that it stands last`);
    if (parameters.includes(segment.name)) throw malformed(`{${segment.name}} stands twice in the path`);
    parameters.push(segment.name);
  }
  const brace = text.indexOf("{");
  return { text, segments, parameters, trailingSlash, prefix: brace < 0 ? text : text.slice(0, brace) };
}

/** The name of the parameter that takes all that is left of the path. */
export function restOf({ segments }: PathTemplate): string | null {
  const last = segments.at(-1);
  return last?.kind === "parameter" && last.rest === true ? last.name : null;
}

/** Sorts before another where it has a literal first, and a single segment before all that are left. */
export function shapeOf({ segments }: Pick<PathTemplate, "segments">): string {
  return segments.map((one) => (one.kind === "literal" ? "0" : one.rest === true ? "2" : "1")).join("");
}

function parseSegment(raw: string): TemplateSegment {
  const [, parameter, plus] = PARAMETER.exec(raw) ?? [];
  if (parameter !== undefined) return { kind: "parameter", name: parameter, ...(plus === "+" ? { rest: true } : {}) };
  if (raw === "") throw malformed("a path template has no empty segments");
  if (raw === "." || raw === "..") throw malformed("a path template has no . or .. segments");
  if (raw.includes("{") || raw.includes("}")) {
    throw malformed(
      `"${raw}" mixes text and braces; a parameter is a whole segment, written {name}, or {name+} for all that is left`,
    );
  }
  if (!LITERAL.test(raw)) {
    throw malformed(
      `"${raw}" holds a character that a literal segment may not have; no escapes, query or fragment here`,
    );
  }
  return { kind: "literal", text: raw };
}

function malformed(message: string): Denied {
  return new Denied("template_malformed", message);
}
