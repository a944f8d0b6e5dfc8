import { defaults } from "../../kernel/defaults.ts";

/** One value of a `Link` header: where it points and which relations it states. */
export interface Link {
  readonly target: string;
  readonly relations: readonly string[];
  /** The link is about another resource than the one that was answered. */
  readonly anchored: boolean;
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]$/;

/**
 * The links of a header field (RFC 8288), or null for anything that is not one whole, well-formed list: half a link is a
 * place we were not told to go. One pass from left to right, no backtracking.
 */
export function readLinks(field: string): readonly Link[] | null {
  if (field.length > defaults.discoveryLinkCharacters) return null;
  const links: Link[] = [];
  let at = 0;
  const blank = (): void => {
    while (field[at] === " " || field[at] === "\t") at++;
  };
  const token = (): string => {
    const from = at;
    while (at < field.length && TOKEN.test(field[at] ?? "")) at++;
    return field.slice(from, at);
  };
  const quoted = (): string | null => {
    let text = "";
    for (at++; at < field.length; at++) {
      if (field[at] === '"') {
        at++;
        return text;
      }
      if (field[at] === "\\") at++;
      text += field[at] ?? "";
    }
    return null;
  };
  const parameters = (): ReadonlyMap<string, string> | null => {
    const found = new Map<string, string>();
    for (blank(); field[at] === ";"; blank()) {
      at++;
      blank();
      const name = token().toLowerCase();
      if (name === "") return null;
      blank();
      let value: string | null = "";
      if (field[at] === "=") {
        at++;
        blank();
        value = field[at] === '"' ? quoted() : token();
        if (value === null || value === "") return null;
      }
      // Only the first of a name counts, as the standard says of `rel`.
      if (!found.has(name)) found.set(name, value);
    }
    return found;
  };
  for (blank(); at < field.length; blank()) {
    if (field[at] !== "<") return null;
    const end = field.indexOf(">", at);
    if (end < 0) return null;
    const target = field.slice(at + 1, end);
    at = end + 1;
    const found = parameters();
    if (found === null) return null;
    links.push({ target, relations: relationsOf(found.get("rel")), anchored: found.has("anchor") });
    if (at === field.length) break;
    if (field[at] !== ",") return null;
    at++;
  }
  return links;
}

function relationsOf(rel: string | undefined): readonly string[] {
  return (rel ?? "")
    .toLowerCase()
    .split(" ")
    .filter((relation) => relation !== "");
}
