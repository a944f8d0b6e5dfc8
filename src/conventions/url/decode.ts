import { Denied } from "../../kernel/failure.ts";
import { climbs, hasControl } from "./encode.ts";

const RAW_PATH = /^[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*$/;

/**
 * The one boundary where a path's escapes are decoded: split first, then each segment once. `%2F` becomes a slash that
 * is data, `%252F` becomes the text `%2F` and stays it. What would move through the tree is refused.
 */
export function decodePath(rawPath: string): readonly string[] {
  if (!rawPath.startsWith("/")) throw new Denied("percent_malformed", "a path starts with a slash");
  if (!RAW_PATH.test(rawPath)) throw new Denied("percent_malformed", "the path holds a character that must be escaped");
  if (rawPath === "/") return [];
  return rawPath.slice(1).split("/").map(decodeSegment);
}

export function decodeSegment(raw: string): string {
  const text = decodeEscapes(raw);
  if (text === "") throw new Denied("segment_refused", "a path has no empty segments");
  if (climbs(text)) throw new Denied("segment_refused", "a path segment may not be or hold . or ..");
  if (hasControl(text)) throw new Denied("text_malformed", "a path segment may not hold control characters");
  return text;
}

/** One pass over the escapes. Malformed ones and bytes that are not UTF-8 are refused, never passed through. */
function decodeEscapes(raw: string): string {
  if (!raw.includes("%")) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    throw new Denied("percent_malformed", "a percent escape is cut short or its bytes are not UTF-8");
  }
}
