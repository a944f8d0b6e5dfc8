import { Denied } from "../../kernel/failure.ts";
import { decodePath } from "../url/decode.ts";
import { type PathTemplate, restOf, shapeOf } from "../url/template.ts";
import { type HttpAction, hasSideEffect, type Pack } from "./pack.ts";

/**
 * What a provider serves under a literal path is never what it serves under a parameter: no argument makes the request of another
 * action, which has an effect, an approval and a price of its own.
 */
export function requireOwnPath(pack: Pack, action: HttpAction, path: string): void {
  const rivals = rivalsOf(pack, action);
  if (rivals.length === 0) return;
  const segments = decodePath(action.template.trailingSlash ? path.slice(0, -1) : path);
  const other = rivals.find(({ template }) => says(template, segments));
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

/** A pack never changes, and few have such actions at all. */
const known = new WeakMap<HttpAction, readonly HttpAction[]>();

/** The actions of one method that say literally what this one takes as a parameter. */
function rivalsOf(pack: Pack, action: HttpAction): readonly HttpAction[] {
  const found = known.get(action);
  if (found !== undefined) return found;
  const rivals = [...pack.actions.values()].filter(
    (other): other is HttpAction =>
      other.kind === "http" && other.method === action.method && isNarrower(other.template, action.template),
  );
  known.set(action, rivals);
  return rivals;
}

/** Literal where the other has a parameter, and alike where that is literal. */
function isNarrower(template: PathTemplate, wide: PathTemplate): boolean {
  if (template.trailingSlash !== wide.trailingSlash || shapeOf(template) >= shapeOf(wide)) return false;
  return wide.segments.every((segment, index) => {
    const own = template.segments[index];
    return segment.kind === "parameter" || own?.kind !== "literal" || own.text === segment.text;
  });
}

function says(template: PathTemplate, path: readonly string[]): boolean {
  const { segments } = template;
  if (restOf(template) !== null ? path.length < segments.length : path.length !== segments.length) return false;
  return segments.every((segment, index) => segment.kind === "parameter" || segment.text === path[index]);
}
