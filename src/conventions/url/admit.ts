import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { decodePath } from "./decode.ts";
import { type Origin, originOf } from "./origin.ts";
import { parseTemplate } from "./template.ts";

/** One entry of a full-URL action's allow-list. */
export interface UrlAllowance {
  readonly origin: Origin;
  /** Whole segments: `/files` admits `/files` and `/files/a`, never `/filesystem`. */
  readonly pathPrefix: string;
  /** Whether the URL may carry a query. */
  readonly query: boolean;
}

export interface AdmittedUrl {
  readonly url: string;
  readonly origin: Origin;
}

const PLAIN = /^[\x21-\x5b\x5d-\x7e]+$/;
const RESIDUE = /[/\\]|%[0-9A-Fa-f]{2}/;

/** Takes a whole URL from an agent only in its plain spelling and only beneath an allowed origin and path prefix. */
export function admitUrl(text: string, allowed: readonly UrlAllowance[]): AdmittedUrl {
  if (text.length > defaults.urlCharacters || !PLAIN.test(text) || !URL.canParse(text)) {
    throw refused("expected an absolute URL in printable ASCII, without spaces or backslashes");
  }
  const url = new URL(text);
  if (url.href !== text)
    throw refused("the URL is not in its plain spelling; dot segments, default ports and the like are refused");
  if (url.username !== "" || url.password !== "") throw refused("a URL with a user name or password is refused");
  if (text.includes("#")) throw refused("a URL with a fragment is refused");
  // A segment that decodes to a separator or to another escape could leave the prefix at a second decoder.
  if (segmentsOf(url.pathname).some((segment) => RESIDUE.test(segment))) {
    throw refused("the path holds an escaped separator or a doubly encoded escape");
  }
  const origin = originOf(url);
  const match = allowed.find(
    (entry) =>
      entry.origin === origin && isUnder(url.pathname, entry.pathPrefix) && (entry.query || !text.includes("?")),
  );
  if (match === undefined) throw refused("the URL is outside the origins and paths that this action allows");
  return { url: text, origin: match.origin };
}

/** What is wrong with a prefix in an allow-list; null when nothing is. */
export function troubleWithPrefix(prefix: string): string | null {
  try {
    const template = parseTemplate(prefix);
    return template.parameters.length === 0 ? null : "a path prefix has no parameters";
  } catch (error) {
    if (error instanceof Denied) return error.message;
    throw error;
  }
}

function segmentsOf(pathname: string): readonly string[] {
  // A final slash names a folder, `/a/` being the shortest; any other empty segment is refused by the decoder.
  const path = pathname.length > 2 && pathname.endsWith("/") ? pathname.slice(0, -1) : pathname;
  try {
    return decodePath(path);
  } catch (error) {
    if (error instanceof Denied) throw refused(error.message);
    throw error;
  }
}

function isUnder(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(prefix.endsWith("/") ? prefix : `${prefix}/`);
}

function refused(message: string): Denied {
  return new Denied("url_not_allowed", message);
}
