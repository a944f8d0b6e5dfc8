const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Whether a text that may be JSON is nested at most `depth` deep, without reading it as JSON and without recursion. */
export function isNestedWithin(text: string, depth: number): boolean {
  let level = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (code === 0x5b || code === 0x7b) {
      if (++level > depth) return false;
    } else if (code === 0x5d || code === 0x7d) level--;
  }
  return true;
}
