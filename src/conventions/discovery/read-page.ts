import { followPointer } from "../../../packages/request/src/pointer.ts";
import { defaults } from "../../kernel/defaults.ts";
import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import { type Link, readLinks } from "./read-link.ts";

/** Where a definition says that the records and the way on are. Pointers are RFC 6901. */
export interface PageContract {
  /** Empty where the whole answer is the list. */
  readonly items: string;
  /** What an empty page still holds, of a provider that leaves the list out of it; null where none does. */
  readonly emptyIf: string | null;
  readonly continuation:
    | { readonly kind: "cursor"; readonly pointer: string }
    /** `path`: another path under which the provider's links name the same list; one in braces is any one segment. */
    | { readonly kind: "link"; readonly path: string | null };
  readonly cursorParam: string;
}

/** One answered page. `body` is strictly parsed JSON; `url` is what we asked for, after no redirect. */
export interface AnsweredPage {
  readonly url: string;
  readonly body: JsonValue;
  readonly link: string | null;
}

export type PageFault =
  | "page_malformed"
  | "continuation_malformed"
  | "continuation_foreign"
  | "continuation_undocumented";

/** What a page holds and what it says comes next. A fault in the way on does not spoil the records before it. */
export type PageReading =
  | { readonly kind: "fault"; readonly fault: PageFault; readonly records: readonly JsonValue[] | null }
  | { readonly kind: "page"; readonly records: readonly JsonValue[]; readonly cursor: string | null };

export function readPage(page: AnsweredPage, contract: PageContract): PageReading {
  const records = readRecords(page.body, contract);
  if (!Array.isArray(records)) return { kind: "fault", fault: "page_malformed", records: null };
  const next =
    contract.continuation.kind === "cursor"
      ? readCursor(page, contract.continuation.pointer)
      : readNextLink(page, contract.cursorParam, contract.continuation.path);
  return next.kind === "fault" ? { ...next, records } : { kind: "page", records, cursor: next.cursor };
}

/** A list that is not there is no empty one, unless the definition says so and the answer is plainly a page. */
function readRecords(body: JsonValue, { items, emptyIf }: PageContract): JsonValue | undefined {
  const found = followPointer(body, items);
  if (found !== undefined || emptyIf === null || !isJsonObject(body)) return found;
  const isPage = Object.keys(body).length === 0 || followPointer(body, emptyIf) !== undefined;
  return isPage ? [] : undefined;
}

type Next =
  | { readonly kind: "fault"; readonly fault: PageFault }
  | { readonly kind: "next"; readonly cursor: string | null };

const END: Next = { kind: "next", cursor: null };

function readCursor({ body, link }: AnsweredPage, pointer: string): Next {
  const value = followPointer(body, pointer);
  if (value === undefined || value === null) {
    // The list ended where the pack looks, and goes on where it does not: a way that nobody documented.
    const links = link === null ? [] : readLinks(link);
    return links?.some(isNext) ? fault("continuation_undocumented") : END;
  }
  return typeof value === "string" && isCursor(value)
    ? { kind: "next", cursor: value }
    : fault("continuation_malformed");
}

/**
 * The cursor inside a `next` link. The link itself is never followed: our own request is built again with the cursor, so
 * that a link which wants anything else (another host, path, filter or order) is a fault and not a way on.
 */
function readNextLink({ url, link }: AnsweredPage, cursorParam: string, path: string | null): Next {
  if (link === null) return END;
  const links = readLinks(link);
  if (links === null) return fault("continuation_malformed");
  const nexts = links.filter(isNext);
  const [next] = nexts;
  if (next === undefined) return END;
  if (nexts.some(({ target }) => target !== next.target)) return fault("continuation_malformed");
  const target = URL.parse(next.target, url);
  if (target === null) return fault("continuation_malformed");
  const asked = new URL(url);
  if (target.origin !== asked.origin || target.username !== "" || target.password !== "") {
    return fault("continuation_foreign");
  }
  if (target.pathname !== asked.pathname && !isAt(target.pathname, path)) return fault("continuation_foreign");
  const cursors = target.searchParams.getAll(cursorParam);
  const [cursor] = cursors;
  if (cursor === undefined || cursors.length > 1) return fault("continuation_undocumented");
  for (const name of new Set(target.searchParams.keys())) {
    if (name === cursorParam) continue;
    const [theirs, ours] = [target.searchParams.getAll(name), asked.searchParams.getAll(name)];
    if (theirs.length !== ours.length || theirs.some((value, index) => value !== ours[index])) {
      return fault("continuation_undocumented");
    }
  }
  return isCursor(cursor) ? { kind: "next", cursor } : fault("continuation_malformed");
}

function isAt(pathname: string, path: string | null): boolean {
  if (path === null) return false;
  const [theirs, ours] = [pathname.split("/"), path.split("/")];
  return (
    theirs.length === ours.length &&
    ours.every((segment, index) => (segment.startsWith("{") ? theirs[index] !== "" : segment === theirs[index]))
  );
}

function isNext({ relations, anchored }: Link): boolean {
  return relations.includes("next") && !anchored;
}

function isCursor(text: string): boolean {
  return text !== "" && text.length <= defaults.discoveryCursorCharacters && text.isWellFormed();
}

function fault(reason: PageFault): Next {
  return { kind: "fault", fault: reason };
}
