import { decodePath } from "../../../src/conventions/url/decode.ts";
import { type PathTemplate, restOf } from "../../../src/conventions/url/template.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { type Pairs, readPairs } from "./pairs.ts";

/** By these words a client of ours knows that a server is of another version than itself. */
export const NOTHING_AT_PATH = "there is nothing at this path";

export interface RequestTarget {
  readonly path: string;
  readonly query: string | undefined;
}

/** Origin form only: a path, and at most one query. */
export function splitTarget(target: string): RequestTarget {
  if (!target.startsWith("/") || target.includes("#")) throw new Denied("query_malformed", "the target is not a path");
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target, query: undefined };
  return { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

export interface MatchedPath {
  readonly segments: readonly string[];
  readonly params: Pairs;
}

/** The decoded segments and parameters when the path has the template's shape, else undefined. */
export function matchPath(template: PathTemplate, path: string): MatchedPath | undefined {
  if (!path.startsWith(template.prefix)) return undefined;
  // The route was found with it a moment ago, and whoever asks again and again asks for the same.
  if (last !== null && last.template === template && last.path === path) return last.matched;
  const matched = match(template, path);
  if (matched !== undefined) last = { template, path, matched };
  return matched;
}

let last: { readonly template: PathTemplate; readonly path: string; readonly matched: MatchedPath } | null = null;

function match(template: PathTemplate, path: string): MatchedPath | undefined {
  if (path.endsWith("/") !== template.trailingSlash) return undefined;
  const raw = cutPath(path);
  const rest = restOf(template);
  const count = template.segments.length;
  if (rest === null ? raw.length !== count : raw.length < count) return undefined;
  for (let index = 0; index < count; index++) {
    const segment = template.segments[index];
    if (segment?.kind === "literal" && segment.text !== raw[index]) return undefined;
  }
  const segments = decodePath(`/${raw.join("/")}`);
  const params = new Map<string, readonly string[]>();
  for (const [index, segment] of template.segments.entries()) {
    if (segment.kind !== "parameter") continue;
    params.set(segment.name, [segment.name === rest ? segments.slice(index).join("/") : (segments[index] ?? "")]);
  }
  return { segments, params };
}

/** As it was sent, without a final slash. One path is tried against the templates of many routes, one after the other. */
function cutPath(path: string): readonly string[] {
  if (lastCut === null || lastCut.path !== path) {
    const raw = path === "/" ? [] : path.slice(1, path.endsWith("/") ? -1 : undefined).split("/");
    lastCut = { path, raw };
  }
  return lastCut.raw;
}

let lastCut: { readonly path: string; readonly raw: readonly string[] } | null = null;

export function readQuery(query: string | undefined, lists: ReadonlySet<string>): Pairs {
  if (query === undefined) return new Map();
  if (query.length > defaults.queryBytes) {
    throw new Denied("query_malformed", `the query is longer than ${defaults.queryBytes} bytes`);
  }
  return readPairs(query, { malformed: "query_malformed", lists });
}
