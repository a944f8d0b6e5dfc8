/**
 * GraphQL documents as constants of a pack. A document is read as far as two questions need: whether two texts are the same
 * document, and whether it changes anything. What is sent is always the pack's own text.
 */

const IGNORED = /(?:[\uFEFF\t \n\r,]|#[^\n\r]*)+/y;
const TOKEN = /\.\.\.|[!$&():=@[\]{|}]|[A-Za-z_][A-Za-z0-9_]*|-?\d[\d.eE+-]*|"(?!"")(?:[^"\\\n\r]|\\.)*"/y;

/** The tokens of a document, or null where it is none. Block strings are not read: their blanks have a meaning. */
export function readTokens(text: string): readonly string[] | null {
  const tokens: string[] = [];
  let at = 0;
  while (at < text.length) {
    IGNORED.lastIndex = at;
    if (IGNORED.test(text)) {
      at = IGNORED.lastIndex;
      continue;
    }
    TOKEN.lastIndex = at;
    const [token] = TOKEN.exec(text) ?? [];
    if (token === undefined) return null;
    tokens.push(token);
    at += token.length;
  }
  return tokens;
}

/** Equal for two texts that differ in blanks, commas and comments at most. */
export function documentKey(text: string): string {
  return readTokens(text)?.join(" ") ?? text;
}

export interface GraphqlOperation {
  readonly kind: "query" | "mutation" | "subscription";
  readonly name: string | null;
}

/** The operations of a document, in their order; null where it is none. */
export function readOperations(text: string): readonly GraphqlOperation[] | null {
  const tokens = readTokens(text);
  if (tokens === null) return null;
  const operations: GraphqlOperation[] = [];
  const open: string[] = [];
  let begun = false;
  for (const [index, token] of tokens.entries()) {
    if (!begun) {
      begun = true;
      const next = tokens[index + 1] ?? "";
      if (token === "{") operations.push({ kind: "query", name: null });
      else if (token === "query" || token === "mutation" || token === "subscription")
        operations.push({ kind: token, name: /^[A-Za-z_]/.test(next) ? next : null });
      else if (token !== "fragment") return null;
    }
    const closing = CLOSED_BY.get(token);
    if (closing !== undefined) open.push(closing);
    else if (CLOSING.has(token) && open.pop() !== token) return null;
    if (open.length === 0 && token === "}") begun = false;
  }
  return open.length === 0 && !begun ? operations : null;
}

const CLOSED_BY = new Map([
  ["{", "}"],
  ["(", ")"],
  ["[", "]"],
]);
const CLOSING = new Set(CLOSED_BY.values());
