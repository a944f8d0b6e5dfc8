import { Denied } from "../../kernel/failure.ts";
import { decodePath } from "../url/decode.ts";
import { type PathTemplate, restOf, shapeOf } from "../url/template.ts";
import { type HttpAction, hasSideEffect, type Pack } from "./pack.ts";

/**
 * What a provider serves under a literal path is never what it serves under a parameter: no argument makes the request of another
 * action, which has an effect, an approval and a price of its own. Nor is one made that many servers take for it: they tell no case
 * apart, nor a final slash, answer HEAD as GET, and some split a path once its escapes are decoded.
 */
export function requireOwnPath(pack: Pack, action: HttpAction, path: string): void {
  const { narrower, asking } = rivalsOf(pack, action);
  if (narrower.length === 0 && (asking.length === 0 || !path.includes("%"))) return;
  const segments = decodePath(action.template.trailingSlash ? path.slice(0, -1) : path);
  const split = segments.flatMap((segment) => segment.split("/"));
  const other =
    narrower.find(({ template }) => says(template, segments)) ??
    (split.length === segments.length ? undefined : asking.find(({ template }) => says(template, split)));
  if (other === undefined) return;
  throw new Denied("segment_refused", `the path would be that of ${other.qualifiedName}, which is another action`);
}

/**
 * Whether a provider may say of itself that something is to be read there: not at the path of a GET that has an effect, a price
 * or a yes of its own.
 */
export function isOpenToRead(pack: Pack, path: string): boolean {
  const segments = readSegments(path);
  if (segments === null) return false;
  return ![...pack.actions.values()].some(
    (other) =>
      other.kind === "http" && other.method === "GET" && asksForItself(other) && says(other.template, segments),
  );
}

function asksForItself({ effect, needs, asksEachCall, maxCostCents }: HttpAction): boolean {
  return (
    hasSideEffect(effect) || needs.approval === "each_use" || needs.ticket || asksEachCall || maxCostCents !== null
  );
}

/** Null for what no template could say. */
function readSegments(path: string): readonly string[] | null {
  try {
    return decodePath(path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path);
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

interface Rivals {
  /** Those that say literally what this one takes as a parameter. */
  readonly narrower: readonly HttpAction[];
  /** Those that ask for themselves, of any other path. */
  readonly asking: readonly HttpAction[];
}

/** A pack never changes, and few have such actions at all. */
const known = new WeakMap<HttpAction, Rivals>();

function rivalsOf(pack: Pack, action: HttpAction): Rivals {
  const found = known.get(action);
  if (found !== undefined) return found;
  const others = [...pack.actions.values()].filter(
    (other): other is HttpAction => other.kind === "http" && isReachedBy(action, other),
  );
  const rivals = {
    narrower: others.filter(({ template }) => isNarrower(template, action.template)),
    asking: others.filter((other) => other !== action && asksForItself(other)),
  };
  known.set(action, rivals);
  return rivals;
}

function isReachedBy({ method }: HttpAction, other: HttpAction): boolean {
  return other.method === method || (method === "HEAD" && other.method === "GET" && asksForItself(other));
}

/** Literal where the other has a parameter, and alike where that is literal. */
function isNarrower(template: PathTemplate, wide: PathTemplate): boolean {
  if (shapeOf(template) >= shapeOf(wide)) return false;
  return wide.segments.every((segment, index) => {
    const own = template.segments[index];
    return segment.kind === "parameter" || own?.kind !== "literal" || isSame(own.text, segment.text);
  });
}

function says(template: PathTemplate, path: readonly string[]): boolean {
  const { segments } = template;
  if (restOf(template) !== null ? path.length < segments.length : path.length !== segments.length) return false;
  return segments.every((segment, index) => segment.kind === "parameter" || isSame(segment.text, path[index] ?? ""));
}

function isSame(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase();
}
