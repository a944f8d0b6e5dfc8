import { parseJson } from "../../../packages/request/src/json/parse.ts";
import { readPairs } from "../../../packages/request/src/pairs.ts";
import { splitTarget } from "../../../packages/request/src/target.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import type { BodyType } from "../action/pack.ts";
import { isSpooled, type SentBody, standInFor } from "../action/spooled.ts";
import { decodePath } from "../url/decode.ts";
import type { PlainRequest } from "./plain.ts";

/** What of a request is held against another: nothing in here depends on how its text was spelled. */
export interface Compared {
  /** Query members that the pack tolerates, and that are not sent on. */
  readonly without: ReadonlySet<string>;
  /** Header fields that the action declares, in lower case. */
  readonly fields: ReadonlySet<string>;
  readonly body: BodyType | null;
  /** No body, and one without members, are the same. */
  readonly emptyIsNone: boolean;
}

/** Method, origin, decoded segments, the pairs by name, the declared fields and the body's value as one text. */
export function canonicalRequest(request: PlainRequest, compared: Compared): string {
  const { path, query } = splitTarget(request.target);
  return canonicalJson([
    request.method,
    request.origin,
    path.endsWith("/"),
    decodePath(path === "/" ? path : path.replace(/\/$/, "")) as string[],
    pairsOf(query ?? "", "query_malformed").filter(([name]) => !compared.without.has(name)),
    request.headers
      .filter(([name]) => compared.fields.has(name))
      .map(([name, value]) => [name, value] as [string, string])
      .sort(byName),
    bodyOf(request.body, compared),
  ]);
}

function bodyOf(body: SentBody | null, { body: type, emptyIsNone }: Compared): string {
  if (body === null || body.byteLength === 0) return "none";
  if (isSpooled(body)) return `bytes ${standInFor(body)}`;
  switch (type) {
    case null:
    case "multipart/form-data":
    case "opaque":
    case "git-receive-pack":
      return `bytes ${body.toString("base64")}`;
    case "application/json": {
      const text = canonicalJson(parseJson(body).value);
      return emptyIsNone && text === "{}" ? "none" : text;
    }
    case "application/x-www-form-urlencoded": {
      const text = canonicalJson(pairsOf(body.toString("latin1"), "form_malformed"));
      return emptyIsNone && text === "[]" ? "none" : text;
    }
  }
}

/** Values of one name keep their order; the names among each other do not. */
function pairsOf(text: string, malformed: "form_malformed" | "query_malformed"): [string, string][] {
  const pairs = readPairs(text, { malformed, lists: "all", brackets: true });
  return [...pairs].flatMap(([name, values]) => values.map((value): [string, string] => [name, value])).sort(byName);
}

function byName([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
