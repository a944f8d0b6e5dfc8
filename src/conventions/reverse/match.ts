import { readPairs } from "../../../packages/request/src/pairs.ts";
import type { RequestTarget } from "../../../packages/request/src/target.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { bindAction } from "../action/bind.ts";
import { type HttpAction, hasSideEffect, type InputField, type Pack, type Place } from "../action/pack.ts";
import { isSpooled } from "../action/spooled.ts";
import { acceptFit, rankAccept } from "./accept.ts";
import { canonicalRequest } from "./canonical.ts";
import { withDocument } from "./document.ts";
import { changesMeaning, type Head } from "./head.ts";
import type { FoundAction, PageAsked, PlainRequest } from "./plain.ts";
import { membersOf, unzip } from "./read-body.ts";
import { readText } from "./value.ts";

export type Match =
  | { readonly kind: "hit"; readonly found: FoundAction; readonly rank: number }
  | { readonly kind: "miss"; readonly why: string; readonly depth: number };

/** An action whose method and path shape are the request's, and what its path says. */
export interface Candidate {
  readonly pack: Pack;
  readonly action: HttpAction;
  readonly params: ReadonlyMap<string, readonly string[]>;
}

type Input = Record<string, JsonValue>;

/** How far an action came before it did not fit. */
const REACHED = { path: 2, query: 3, queryRest: 4, headers: 5, body: 6, bodyRest: 7, whole: 8 } as const;

class Unfit extends Error {
  readonly at: keyof typeof REACHED;
  constructor(at: keyof typeof REACHED, why: string) {
    super(why);
    this.at = at;
  }
}

/** Holds one action against a request. */
export function matchAction(one: Candidate, target: RequestTarget, head: Head, request: PlainRequest): Match {
  try {
    return hold(one, target, head, request);
  } catch (error) {
    if (error instanceof Unfit) return { kind: "miss", why: error.message, depth: REACHED[error.at] };
    if (error instanceof Denied) return { kind: "miss", why: wordsOf(error), depth: REACHED.whole };
    throw error;
  }
}

function hold({ pack, action, params }: Candidate, target: RequestTarget, head: Head, request: PlainRequest): Match {
  if (action.plan !== null || action.rollback !== null)
    throw new Unfit("path", "it carries out what was planned before, which a plain request cannot name; use gw plan");
  const input: Input = {};
  const declared = declaredFields(action);
  const dropped = head.dropped.filter((name) => !declared.has(name));
  for (const field of placed(action, "path")) take(input, field, readText(field, params.get(field.name) ?? []), "path");
  const page = takeQuery(action, target.query, input, dropped);
  takeHeaders(pack, action, head, input, dropped);
  const accept = acceptFit(head.accept, action.accept, pack.provider?.accepts ?? []);
  if (accept === "no")
    throw new Unfit(
      "headers",
      `the tool wants ${head.accept}, and the action asks for ${action.accept ?? "application/json"}`,
    );
  const sent = isUnzipped(action, "content-encoding", head.own.get("content-encoding")) ? unzipped(request) : request;
  const plain = withDocument(action, sent, (why, near) => new Unfit(near ? "bodyRest" : "body", why));
  takeBody(action, head, plain, input);
  requireSame(pack, action, input, page, plain, dropped);
  const constants = action.inputs.filter(({ constant }) => constant !== undefined).length;
  return {
    kind: "hit",
    found: { kind: "action", pack, action, input, page, dropped },
    rank: constants * 4 + rankAccept(accept, head.accept, action.accept),
  };
}

function takeQuery(action: HttpAction, query: string | undefined, input: Input, dropped: string[]): PageAsked | null {
  const fields = placed(action, "query");
  const lists = new Set(fields.filter(({ list }) => list === "repeat").map(({ wireName }) => wireName));
  const left = new Map(
    within("query", () => readPairs(query ?? "", { malformed: "query_malformed", lists, brackets: true })),
  );
  for (const field of fields) {
    const texts = left.get(field.wireName);
    left.delete(field.wireName);
    if (texts === undefined) requireAbsence(field, "query");
    else take(input, field, readText(field, texts), "query");
  }
  const page = takePage(action, left);
  for (const name of action.tolerates) if (left.delete(name)) dropped.push(`query ${name}`);
  if (left.size > 0) throw new Unfit("queryRest", `it does not take ${quoted([...left.keys()])} in the query`);
  return page;
}

/** The one page that the tool asks for: nothing is added that it did not say. */
function takePage({ pages }: HttpAction, left: Map<string, readonly string[]>): PageAsked | null {
  if (pages === null) return null;
  const cursor = left.get(pages.cursorParam)?.[0] ?? null;
  const size = pages.sizeParam === null ? null : (left.get(pages.sizeParam)?.[0] ?? null);
  left.delete(pages.cursorParam);
  if (pages.sizeParam !== null) left.delete(pages.sizeParam);
  if (size !== null && !/^[1-9]\d{0,2}$/.test(size)) throw new Unfit("query", "its page size is a number up to 999");
  return { size: size === null ? null : Number(size), cursor };
}

function takeHeaders(pack: Pack, action: HttpAction, head: Head, input: Input, dropped: string[]): void {
  const { provider } = pack;
  const fields = new Map(placed(action, "header").map((field) => [wireNameOf(field), field]));
  const ours = [provider?.idempotency?.header, provider?.correlationHeader].map((name) => name?.toLowerCase());
  for (const [name, value] of head.own) {
    const field = fields.get(name);
    if (field !== undefined) take(input, field, readText(field, [value]), "headers");
    else if (isUnzipped(action, name, value)) dropped.push(name);
    else if (name === provider?.version?.header.toLowerCase()) {
      if (value !== provider.version.value)
        throw new Unfit(
          "headers",
          `the tool asks for ${name} ${value}, and the pack is trusted for ${provider.version.value}`,
        );
    } else if (ours.includes(name) || provider?.tolerates.includes(name)) dropped.push(name);
    else if (changesMeaning(name))
      throw new Unfit("headers", `the field ${name} would make it another request, and the action does not declare it`);
    else if (hasSideEffect(action.effect))
      throw new Unfit(
        "headers",
        `nobody knows what the field ${name} means for something that is not a read; declare or tolerate it`,
      );
    else dropped.push(name);
  }
  for (const [name, field] of fields) {
    if (head.own.has(name) || isOwnName(field)) continue;
    const said = head.passing.get(name);
    if (said === undefined) requireAbsence(field, "headers");
    else take(input, field, readText(field, [said]), "headers");
  }
}

/** The header fields that the tool's request and ours must agree on. */
function declaredFields(action: HttpAction): ReadonlySet<string> {
  return new Set(placed(action, "header").flatMap((field) => (isOwnName(field) ? [] : [wireNameOf(field)])));
}

/** A pack may give every request one name to go by; the tool's own is never sent. */
function isOwnName(field: InputField): boolean {
  return field.constant !== undefined && wireNameOf(field) === WHO_IT_IS;
}

const WHO_IT_IS = "user-agent";

function wireNameOf({ wireName }: InputField): string {
  return wireName.toLowerCase();
}

function takeBody(action: HttpAction, head: Head, { body }: PlainRequest, input: Input): void {
  const fields = placed(action, "body");
  const empty = body === null || body.byteLength === 0;
  if (action.body === null) {
    if (!empty) throw new Unfit("body", "it sends no body");
    return;
  }
  if (empty && action.body === "opaque") {
    // A file without a byte is a file; what is sent for it cannot be told from no body.
    for (const field of fields) take(input, field, "", "body");
    return;
  }
  if (empty) {
    if (!action.emptyBody) throw new Unfit("body", `it sends ${action.body}, and the request has no body`);
    for (const field of fields) requireAbsence(field, "body");
    return;
  }
  const left = new Map(within("body", () => membersOf(body, head.contentType, action)));
  for (const field of fields) {
    const value = left.get(field.wireName);
    left.delete(field.wireName);
    if (value === undefined) requireAbsence(field, "body");
    else take(input, field, value, "body");
  }
  if (left.size > 0) throw new Unfit("bodyRest", `it does not take ${quoted([...left.keys()])} in the body`);
}

function isUnzipped({ gzip }: HttpAction, name: string, value: string | undefined): boolean {
  return gzip && name === "content-encoding" && value === "gzip";
}

function unzipped(request: PlainRequest): PlainRequest {
  const { body } = request;
  if (body !== null && isSpooled(body)) throw new Unfit("body", "a compressed body of that size is not unpacked");
  return body === null ? request : { ...request, body: within("body", () => unzip(body)) };
}

/** Forward again. Only what comes out the same is what the tool asked for. */
function requireSame(
  pack: Pack,
  action: HttpAction,
  input: JsonObject,
  page: PageAsked | null,
  request: PlainRequest,
  dropped: readonly string[],
): void {
  const { body } = request;
  const bound = bindAction(pack, action.name, input, {
    ...(page === null ? {} : { page }),
    ...(body !== null && isSpooled(body) ? { spooled: body } : {}),
  });
  if (bound.kind !== "http") throw new Unfit("whole", "it is not an HTTP action");
  const tolerated = dropped.filter((name) => name.startsWith("query ")).map((name) => name.slice(6));
  const compared = {
    without: new Set(tolerated),
    fields: declaredFields(action),
    body: action.body,
    emptyIsNone: action.emptyBody,
  };
  const again: PlainRequest = {
    origin: bound.origin,
    method: bound.method,
    target: bound.url.slice(bound.origin.length),
    headers: Object.entries(bound.headers),
    body: bound.body,
  };
  if (canonicalRequest(again, compared) !== canonicalRequest(request, compared))
    throw new Unfit("whole", "what it would send is not the same request");
}

function placed({ inputs }: HttpAction, place: Place): readonly InputField[] {
  return inputs.filter((field) => field.place === place);
}

function take(input: Input, field: InputField, value: JsonValue | undefined, at: keyof typeof REACHED): void {
  if (value === undefined) throw new Unfit(at, `"${field.wireName}" does not fit its type`);
  if (field.constant === undefined) input[field.name] = value;
  else if (value !== field.constant)
    throw new Unfit(at, `"${field.wireName}" is always ${JSON.stringify(field.constant).slice(0, 100)} there`);
}

function requireAbsence(field: InputField, at: keyof typeof REACHED): void {
  if (field.constant !== undefined)
    throw new Unfit(at, `it always sends "${field.wireName}", and the request does not`);
  if (!field.optional) throw new Unfit(at, `it needs "${field.wireName}"`);
}

function within<Value>(at: keyof typeof REACHED, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof Denied ? new Unfit(at, wordsOf(error)) : error;
  }
}

function wordsOf({ message, errors }: Denied): string {
  return errors.length === 0 ? message : `${message}: ${errors.map((one) => `${one.path} ${one.message}`).join("; ")}`;
}

function quoted(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name.slice(0, 64))).join(", ");
}
