const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Whether a text that may be JSON is nested at most `depth` deep, and has at most so many objects and arrays, without reading
 * it as JSON and without recursion.
 */
export function isNestedWithin(text: string, depth: number, containers = Number.POSITIVE_INFINITY): boolean {
  let level = 0;
  let begun = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (code === 0x5b || code === 0x7b) {
      if (++level > depth || ++begun > containers) return false;
    } else if (code === 0x5d || code === 0x7d) level--;
  }
  return true;
}
