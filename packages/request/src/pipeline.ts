/**
 * The one way from a request to a command, in the specification's order: route and media type, bounded read, one parser,
 * schema and semantic checks, canonical command. It does no input or output itself: a skin feeds it what arrives.
 */

import type { Brand } from "../../../src/kernel/brand.ts";
import { type Digest, digestJson } from "../../../src/kernel/canonical-json.ts";
import { Denied, type Finding } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import { openBody } from "./body.ts";
import { checkHead, type JudgedHead, type RequestHead } from "./head.ts";
import type { OpenFile } from "./multipart/part.ts";
import type { Pairs } from "./pairs.ts";
import type { Command, CompiledFields, Route } from "./route.ts";
import { plainSpelling, type ValueSpelling } from "./schema.ts";
import { type SignatureRecord, verifySigned } from "./signed.ts";
import { matchPath, NOTHING_AT_PATH, readQuery, splitTarget } from "./target.ts";

/** Proof that a request went through the whole pipeline. Only this file makes one. */
export type AcceptedRequest<C = Command<unknown, unknown, unknown>> = Brand<
  {
    readonly command: C;
    readonly digest: Digest;
    readonly mediaType: string | null;
    readonly signature: SignatureRecord | null;
    /** Contents of file parts that no sink took, by part name. */
    readonly files: ReadonlyMap<string, Buffer>;
    /** For a part of the body that the route leaves open, and that a schema of its own is for. */
    readonly spelling: ValueSpelling;
  },
  "AcceptedRequest"
>;

export interface Intake<C> {
  /** A promise asks the sender to wait until it resolves. Throws Denied as soon as the bytes cannot be accepted. */
  push(chunk: Uint8Array): void | Promise<void>;
  finish(rawTrailers?: readonly string[]): AcceptedRequest<C> | Promise<AcceptedRequest<C>>;
  /** The request was refused or cut off: sinks drop what they hold. */
  abort(): void;
}

export interface IntakeOptions {
  readonly openFile?: OpenFile | undefined;
  /** How many bytes of a body are taken from whoever sends this one, where that is fewer than the route takes. */
  mostBytes?(params: JsonObject): number;
}

/** Judges everything but the body. Throws Denied before a byte of the body is looked at. */
export function beginRequest<C extends Command<unknown, unknown, unknown>>(
  route: Route<C>,
  head: RequestHead,
  options: IntakeOptions = {},
): Intake<C> {
  const { mediaType, boundary, params, query, pairs, segments } = judgeHead(route, head);
  const reader = openBody(limited(route.body, options.mostBytes?.(params)), boundary, options.openFile);

  function conclude(content: Awaited<ReturnType<typeof reader.finish>>): AcceptedRequest<C> {
    refuse(content.findings);
    // In the order of its canonical form, which then need not be sorted.
    const command: Command = { body: content.body, endpoint: route.endpoint, params, query };
    // The codec of the room: the schema has just proven that the command has the type that the route derives from it.
    const typed = command as unknown as C;
    refuse(route.semantic(typed));
    const digest = digestJson(command as unknown as JsonValue);
    const signed = route.signed && {
      ...{ head, mediaType, segments, query: flatten(pairs) },
      ...{ bytes: content.bytes, body: content.body, commandDigest: digest },
    };
    const signature = route.signed && signed ? verifySigned(route.signed, signed) : null;
    const { files, spelling = plainSpelling } = content;
    return { command: typed, digest, mediaType, signature, files, spelling } as unknown as AcceptedRequest<C>;
  }

  function giveUp(error: unknown): never {
    reader.abort();
    throw error;
  }

  return {
    push: (chunk) => reader.push(chunk),
    finish(rawTrailers = []) {
      try {
        if (rawTrailers.length > 0) throw new Denied("framing_invalid", "trailer fields have no meaning here");
        const content = reader.finish();
        return content instanceof Promise ? content.then(conclude).catch(giveUp) : conclude(content);
      } catch (error) {
        return giveUp(error);
      }
    },
    abort: () => reader.abort(),
  };
}

function judgeHead<C extends Command<unknown, unknown, unknown>>(route: Route<C>, head: RequestHead): JudgedHead {
  const known = head.memory?.judged;
  if (known?.route === route) return known;
  if (head.method !== route.method) throw new Denied("method_not_allowed", `this route answers ${route.method}`);
  const target = splitTarget(head.target);
  const matched = matchPath(route.template, target.path);
  if (matched === undefined) throw new Denied("not_found", NOTHING_AT_PATH);
  const { mediaType, boundary } = checkHead(route.body, head);
  const pairs = readQuery(target.query, route.query.fields.lists);
  const params = readFields(route.params, matched.params, "path parameter");
  const query = readFields(route.query, pairs, "query parameter");
  const judged = { route, params, query, pairs, segments: matched.segments, mediaType, boundary };
  if (head.memory !== undefined)
    head.memory.judged = { ...judged, params: Object.freeze(params), query: Object.freeze(query) };
  return judged;
}

function limited<Body extends Route["body"]>(body: Body, most: number | undefined): Body {
  return most === undefined || !("maxBytes" in body) || body.maxBytes <= most ? body : { ...body, maxBytes: most };
}

function readFields(compiled: CompiledFields, pairs: Pairs, what: string): JsonObject {
  const value = compiled.fields.convert(pairs);
  refuse(compiled.check(value).map((finding) => ({ ...finding, message: `${what}: ${finding.message}` })));
  return value;
}

function refuse(findings: readonly Finding[]): void {
  const [first] = findings;
  if (first === undefined) return;
  const more = findings.length > 1 ? `, and ${findings.length - 1} more` : "";
  throw new Denied("schema_violation", `${first.path || "the body"}: ${first.message}${more}`, { errors: findings });
}

function flatten(pairs: Pairs): readonly (readonly [string, string])[] {
  return [...pairs].flatMap(([name, values]) => values.map((value) => [name, value] as const));
}
