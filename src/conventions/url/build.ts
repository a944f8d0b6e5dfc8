/**
 * Makes the URL of an action from its fixed origin, its path template and typed arguments. The arguments fill segments
 * and query values and nothing else: whatever they hold, origin, path shape and the set of parameters stay the author's.
 * The finished text is parsed again and must come out as it went in.
 */
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { climbs, encodeComponent, hasControl, type PercentRule, refuseEncoded } from "./encode.ts";
import type { Origin } from "./origin.ts";
import { buildQuery, type QueryPair, type Scalar, scalarText } from "./query.ts";
import { type PathTemplate, restOf } from "./template.ts";

export interface PathArgument {
  readonly value: Scalar;
  readonly percent: PercentRule;
}

export interface UrlParts {
  readonly origin: Origin;
  readonly template: PathTemplate;
  readonly path: ReadonlyMap<string, PathArgument>;
  readonly query: readonly QueryPair[];
}

export interface BuiltUrl {
  readonly url: string;
  readonly origin: Origin;
  readonly path: string;
  readonly query: string;
}

export function buildUrl(parts: UrlParts): BuiltUrl {
  const path = buildPath(parts.template, parts.path);
  const query = buildQuery(parts.query);
  const url = query === "" ? `${parts.origin}${path}` : `${parts.origin}${path}?${query}`;
  if (url.length > defaults.urlCharacters) {
    throw new Denied(
      "value_not_allowed",
      `the URL would have ${url.length} characters; the limit is ${defaults.urlCharacters}`,
    );
  }
  const built = { url, origin: parts.origin, path, query };
  refuseAltered(built, parts.template);
  return built;
}

function buildPath(template: PathTemplate, values: ReadonlyMap<string, PathArgument>): string {
  let path = "";
  const rest = restOf(template);
  for (const segment of template.segments) {
    if (segment.kind === "literal") path += `/${segment.text}`;
    else path += `/${encodeSegment(segment.name, values.get(segment.name), segment.name === rest)}`;
  }
  return template.trailingSlash ? `${path}/` : path;
}

/** One segment, in which a slash is data; or, for a rest, several, which slashes part. */
function encodeSegment(name: string, argument: PathArgument | undefined, isRest: boolean): string {
  if (argument === undefined) throw new Denied("missing_member", `the path needs "${name}"`);
  const text = scalarText(name, argument.value);
  refuseEncoded(name, text, argument.percent);
  if (text === "") throw new Denied("segment_refused", `"${name}" is empty, and a path has no empty segments`);
  if (climbs(text)) throw new Denied("segment_refused", `"${name}" is or holds a . or .. segment`);
  if (hasControl(text)) throw new Denied("text_malformed", `"${name}" holds a control character`);
  if (!isRest) return encodeComponent(text);
  const pieces = text.split("/");
  if (pieces.includes("")) throw new Denied("segment_refused", `"${name}" holds an empty segment`);
  return pieces.map(encodeComponent).join("/");
}

/** The last look, with the parser that the transport uses: nothing was normalised, moved or added. */
function refuseAltered(built: BuiltUrl, template: PathTemplate): void {
  const url = URL.parse(built.url);
  const segments = template.segments.length + (template.trailingSlash ? 1 : 0);
  if (
    url === null ||
    url.href !== built.url ||
    url.origin !== built.origin ||
    url.pathname !== built.path ||
    url.search !== (built.query === "" ? "" : `?${built.query}`) ||
    (restOf(template) === null
      ? countSlashes(url.pathname) !== segments
      : countSlashes(url.pathname) < segments || url.pathname.endsWith("/"))
  ) {
    throw new Denied("url_altered", "the finished URL does not parse back to what the action describes");
  }
}

function countSlashes(path: string): number {
  let count = 0;
  for (let at = path.indexOf("/"); at >= 0; at = path.indexOf("/", at + 1)) count++;
  return count;
}
