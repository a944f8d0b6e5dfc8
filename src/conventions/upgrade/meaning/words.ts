/** Names in APIs are sentences without spaces: `createDeployKey`, `post-terminals-reassign`, `site_id`. */
export function splitWords(name: string): readonly string[] {
  return name
    .slice(0, 400)
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/** Good enough for collection names in paths: `sites` is `site`, `policies` is `policy`, `status` stays. */
export function singular(word: string): string {
  if (word === "ids") return "id";
  if (word.length > 4 && word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:ss|us|is)$/.test(word) || !word.endsWith("s") || word.length < 4) return word;
  return /(?:x|ch|sh|ss|z)es$/.test(word) ? word.slice(0, -2) : word.slice(0, -1);
}

/** The static segments of a path template, lower-cased. */
export function staticSegments(path: string): readonly string[] {
  return path.split("/").filter((segment) => segment !== "" && !segment.includes("{"));
}

/** A leading `/v3` or `/api/v1` or a date says which version, not which resource. */
export function withoutVersion(path: string): string {
  return path.replace(/^(?:\/api)?\/v[0-9]{1,4}(?:[._-][0-9a-z]{1,12}){0,3}(?=\/|$)/i, "") || "/";
}
