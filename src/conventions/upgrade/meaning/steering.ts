import type { SchemaShape } from "../model/shape.ts";
import { singular, splitWords } from "./words.ts";

/** What a field can do beyond being read: name a thing, lead somewhere, open something, grant something. */
export type Steering = "identifier" | "url" | "token" | "cursor" | "role" | "none";

const TOKEN_WORDS = words("token secret password passphrase apikey jwt signature credentials");
const URL_WORDS = words("url uri href link endpoint callback redirect webhook");
const CURSOR_WORDS = words("cursor continuation");
const ROLE_WORDS = words("role roles permission permissions scope scopes privilege privileges");
const IDENTIFIER_ENDS = words("id ids uuid guid slug sha arn handle ref");
const PAGE_NAMES = words(`page per_page page_size page_number page_token next_page_token cursor next_cursor limit offset
  starting_after ending_before after before first last size next prev previous next_page continuation
  continuation_token max_results`);

export function steeringOf(name: string, shape: Pick<SchemaShape, "types" | "format">): Steering {
  const words = splitWords(name);
  const last = words.at(-1) ?? "";
  const snake = words.join("_");
  if (words.some((word) => CURSOR_WORDS.has(word)) || snake.endsWith("page_token")) return "cursor";
  if (words.some((word) => ROLE_WORDS.has(word)) || snake === "access_level") return "role";
  if (isToken(words, shape)) return "token";
  if (words.some((word) => URL_WORDS.has(word)) || shape.format === "uri" || shape.format === "url") return "url";
  if (IDENTIFIER_ENDS.has(last) || shape.format === "uuid") return "identifier";
  return "none";
}

function isToken(words: readonly string[], shape: Pick<SchemaShape, "types">): boolean {
  if (shape.types.length > 0 && !shape.types.some((type) => type === "string" || type === "object")) return false;
  // `token_type`, `is_secret` and `password_changed_at` tell about a secret; they are none.
  if (ABOUT_WORDS.has(words.at(-1) ?? "") || ["is", "has"].includes(words[0] ?? "")) return false;
  if (words.some((word) => TOKEN_WORDS.has(word))) return true;
  return /(?:^|_)(?:(?:api|access|private|secret|signing|encryption|client)_key|connection_(?:string|url)|dsn)$/.test(
    words.join("_"),
  );
}

const ABOUT_WORDS = words("type at name id count enabled hint ttl expires expiry in status");

export function isPaging(name: string): boolean {
  return PAGE_NAMES.has(splitWords(name).join("_"));
}

/** `id` says nothing alone; the thing it stands in says of what. `siteId`, `site_id` and `id` of a site are one name. */
export function qualifiedName(name: string, holder: string): string {
  const words = splitWords(name);
  const only = words.length === 1 ? (words[0] ?? "") : "";
  if (IDENTIFIER_ENDS.has(only) || URL_WORDS.has(only) || TOKEN_WORDS.has(only)) {
    const owner = splitWords(holder).map(singular).at(-1);
    return owner === undefined ? only : `${owner}_${only}`;
  }
  return words.map((word, index) => (index === words.length - 1 ? singular(word) : word)).join("_");
}

/** Parameters that choose whose things or which things: leaving one out can mean all of them. */
export function choosesResources(name: string): boolean {
  const words = splitWords(name);
  const last = words.at(-1) ?? "";
  return (
    IDENTIFIER_ENDS.has(last) ||
    words.some((word) => BOUNDARY_WORDS.has(singular(word))) ||
    /^(?:filter|state|status|visibility|owner|include|scope|all|archived|deleted|inactive)/.test(words[0] ?? "")
  );
}

const BOUNDARY_WORDS =
  words(`account tenant organization organisation org project team workspace company merchant store site
  customer user member environment region namespace group owner`);

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/));
}
