import { parseJsonValue } from "../../../../packages/request/src/json/parse.ts";
import { type Pairs, readPairs } from "../../../../packages/request/src/pairs.ts";
import { splitTarget } from "../../../../packages/request/src/target.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../../kernel/json.ts";
import { documentKey, type GraphqlOperation, readOperations } from "../../graphql/document.ts";
import { decodePath } from "../../url/decode.ts";

/** A request that no action said. Of header fields it has two, which hold no secrets. */
export interface RefusedRequest {
  readonly origin: string;
  readonly method: string;
  readonly target: string;
  readonly accept: string | null;
  readonly contentType: string | null;
  /** Null where there was none, or none that is text. */
  readonly body: string | null;
  readonly bodyBytes: number;
}

export interface Sample {
  readonly method: string;
  readonly segments: readonly string[];
  readonly trailingSlash: boolean;
  readonly query: Pairs;
  readonly accept: string | null;
  readonly body: SampleBody;
}

export type SampleBody =
  | { readonly kind: "none" }
  | { readonly kind: "json"; readonly members: JsonObject }
  | {
      readonly kind: "graphql";
      readonly members: JsonObject;
      readonly key: string;
      readonly operation: GraphqlOperation;
    }
  | { readonly kind: "form"; readonly pairs: Pairs }
  | { readonly kind: "opaque"; readonly mediaType: string };

/** A request as far as it can be read, or why it cannot. */
export function readSample(request: RefusedRequest): Sample | string {
  try {
    const { path, query } = splitTarget(request.target);
    const trailingSlash = path !== "/" && path.endsWith("/");
    return {
      method: request.method,
      segments: decodePath(trailingSlash ? path.slice(0, -1) : path),
      trailingSlash,
      query: readPairs(query ?? "", { malformed: "query_malformed", lists: "all", brackets: true }),
      accept: request.accept,
      body: readBody(request),
    };
  } catch (error) {
    if (error instanceof Denied) return error.message;
    throw error;
  }
}

function readBody({ body, bodyBytes, contentType }: RefusedRequest): SampleBody {
  if (bodyBytes === 0) return { kind: "none" };
  const mediaType = (contentType ?? "application/octet-stream").split(";")[0]?.trim().toLowerCase() ?? "";
  if (body === null) return { kind: "opaque", mediaType };
  if (mediaType === "application/json") {
    const members = parseJsonValue(Buffer.from(body, "utf8"));
    if (!isJsonObject(members)) return { kind: "opaque", mediaType };
    const { query } = members;
    const operations = typeof query === "string" ? readOperations(query) : null;
    const [operation, second] = operations ?? [];
    if (typeof query !== "string" || operation === undefined || second !== undefined) return { kind: "json", members };
    return { kind: "graphql", members, key: documentKey(query), operation };
  }
  if (mediaType === "application/x-www-form-urlencoded")
    return { kind: "form", pairs: readPairs(body, { malformed: "form_malformed", lists: "all", brackets: true }) };
  return { kind: "opaque", mediaType };
}
