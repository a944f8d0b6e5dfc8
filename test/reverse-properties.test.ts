import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { JsonSchema } from "../packages/request/src/schema.ts";
import { type BoundHttp, bindAction } from "../src/conventions/action/bind.ts";
import type { HttpAction, Pack } from "../src/conventions/action/pack.ts";
import { readPack } from "../src/conventions/action/read.ts";
import type { FoundAction, HeaderLine, PlainRequest } from "../src/conventions/reverse/plain.ts";
import { reverse } from "../src/conventions/reverse/reverse.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { whole } from "./support/whole.ts";

const folder = join(import.meta.dirname, "..", "packs");
const PLACEHOLDER = "gw-placeholder-test";
/** Of each action; fast-check prints the seed of one that failed. */
const RUNS = whole ? 60 : 6;
const NOISE: readonly HeaderLine[] = [
  ["host", "api.example"],
  ["user-agent", "tool/1"],
  ["accept-encoding", "gzip"],
  ["authorization", `Bearer ${PLACEHOLDER}`],
];

const packs = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => readPack(readFileSync(join(folder, name)), name).pack)
  .filter((pack) => pack !== null);

interface Sample {
  readonly input: JsonObject;
  readonly page: { readonly size: number | null; readonly cursor: string | null };
  readonly noise: readonly number[];
}

describe("what an action sends is that action again", () => {
  for (const pack of packs) {
    for (const action of pack.actions.values()) {
      if (!isReversible(action)) continue;
      test(`${action.qualifiedName}, in whatever order and spelling a tool writes it`, () => {
        fc.assert(
          fc.property(samples(action), (sample) => {
            const bound = bind(pack, action.name, sample);
            if (bound === null) return;
            const found = reverse([pack], respell(bound, sample.noise), PLACEHOLDER);
            assert.ok(found.kind === "action", `${bound.method} ${bound.url}: ${JSON.stringify(found)}`);
            assert.equal(found.action.qualifiedName, action.qualifiedName);
            assert.equal(rebind(found).requestDigest, bound.requestDigest);
          }),
          { numRuns: RUNS },
        );
      });
    }
  }
});

test("a request that was changed anywhere is refused, or is the very request that its action sends", () => {
  const reversible = packs.flatMap((pack) =>
    [...pack.actions.values()].filter(isReversible).map((action) => ({ pack, action })),
  );
  let refused = 0;
  let same = 0;
  for (const { pack, action } of reversible) {
    fc.assert(
      fc.property(samples(action), fc.nat(), fc.nat(), (sample, where, how) => {
        const bound = bind(pack, action.name, sample);
        if (bound === null) return;
        const changed = mutate(respell(bound, sample.noise), where, how);
        const found = reverse(packs, changed, PLACEHOLDER);
        if (found.kind === "refused") return void refused++;
        same++;
        const again = rebind(found);
        const dropped = new Set(found.dropped.filter((name) => name.startsWith("query ")).map((name) => name.slice(6)));
        assert.deepEqual(plainly(plainOf(again), new Set()), plainly(changed, dropped));
      }),
      { numRuns: RUNS },
    );
  }
  assert.ok(refused > 40 && same > 40, `${refused} refused, ${same} the same`);
});

type Reversible = HttpAction;

function isReversible(action: Pack["actions"] extends ReadonlyMap<string, infer A> ? A : never): action is Reversible {
  return (
    action.kind === "http" && action.plan === null && action.rollback === null && action.body !== "multipart/form-data"
  );
}

function bind(pack: Pack, name: string, { input, page }: Sample): BoundHttp | null {
  try {
    return bindAction(pack, name, input, { page }) as BoundHttp;
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

function rebind({ pack, action, input, page }: FoundAction): BoundHttp {
  return bindAction(pack, action.name, input, page === null ? {} : { page }) as BoundHttp;
}

const AWKWARD = [
  "a/b",
  "a b",
  "a+b",
  "ü",
  "漢字",
  "a&b=c",
  "..a",
  "a;b",
  "~!*'()",
  '"q"',
  "a\\b",
  "%",
  "#",
  "?",
  "[x]",
];

// fast-check takes long to make texts of a pattern ready: those that many actions want are made once.
const cursors = fc.option(fc.stringMatching(/^[A-Za-z0-9+/=%]{1,12}$/));
const texts = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom(...AWKWARD));
const patterns = new Map<string, fc.Arbitrary<string>>();

function textsOf(pattern: string): fc.Arbitrary<string> {
  const known = patterns.get(pattern) ?? fc.stringMatching(new RegExp(pattern, "u"));
  patterns.set(pattern, known);
  return known;
}

function samples(action: HttpAction): fc.Arbitrary<Sample> {
  const fields = action.inputs.filter(({ constant }) => constant === undefined);
  const required = fields.filter(({ optional }) => !optional).map(({ name }) => name);
  const model = Object.fromEntries(fields.map(({ name, schema }) => [name, valuesOf(schema)]));
  return fc.record({
    input: fc.record(model, { requiredKeys: required }) as fc.Arbitrary<JsonObject>,
    page: fc.record({ size: fc.option(fc.integer({ min: 1, max: 100 })), cursor: cursors }),
    noise: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
  });
}

function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map(valuesOf));
  const { minLength = 0, maxLength = 1000, minimum = -1000, maximum = 1000 } = schema;
  const fits = (text: string): boolean => [...text].length >= minLength && [...text].length <= maxLength;
  switch ([schema.type].flat()[0]) {
    case "integer":
    case "number":
      return fc.integer({ min: Math.max(minimum, -1e6), max: Math.max(Math.min(maximum, 1e6), minimum) });
    case "boolean":
      return fc.boolean();
    case "array": {
      const items = valuesOf(schema.items ?? { type: "string" });
      const bounds = { minLength: Math.max(1, schema.minItems ?? 1), maxLength: Math.min(4, schema.maxItems ?? 4) };
      return schema.uniqueItems === true ? fc.uniqueArray(items, bounds) : fc.array(items, bounds);
    }
    case "object": {
      const members = Object.entries(schema.properties ?? {}).map(([name, one]) => [name, valuesOf(one)] as const);
      return fc.record(Object.fromEntries(members), { requiredKeys: [...(schema.required ?? [])] });
    }
    default:
      if (schema.format === "uuid") return fc.uuid();
      if (schema.format === "date-time") return fc.constant("2026-11-15T09:00:00Z");
      if (schema.format === "date") return fc.constant("2026-11-15");
      if (schema.pattern !== undefined) return textsOf(schema.pattern).filter(fits);
      return texts.filter(fits);
  }
}

function plainOf({ origin, method, url, headers, body }: BoundHttp): PlainRequest {
  return { origin, method, target: url.slice(origin.length), headers: Object.entries(headers), body };
}

/** The same request as another program would write it. */
function respell(bound: BoundHttp, noise: readonly number[]): PlainRequest {
  const request = plainOf(bound);
  const [a = 0, b = 0, c = 0, d = 0] = noise;
  let [path = "", query = ""] = request.target.split("?");
  if (a % 2 === 0) path = path.replace(/%[0-9A-F]{2}/g, (found) => found.toLowerCase());
  if (b % 2 === 0) path = path.replaceAll("%3A", ":").replaceAll("%40", "@").replaceAll("%2C", ",");
  if (c % 2 === 0) query = query.replaceAll("+", "%20").replaceAll("%5B", "[").replaceAll("%5D", "]");
  const byName = Map.groupBy(query.split("&").filter(Boolean), (pair) => pair.split("=")[0]);
  query = [...byName.values()]
    .sort((x, y) => (d % 2 === 0 ? 1 : -1) * (String(x) < String(y) ? 1 : -1))
    .flat()
    .join("&");
  const headers = request.headers.filter(
    ([name]) => name !== "accept" || bound.headers["accept"] !== "application/json",
  );
  const accept: readonly HeaderLine[] = headers.length === request.headers.length ? [] : [["accept", "*/*"]];
  return {
    ...request,
    target: query === "" ? path : `${path}?${query}`,
    headers: [...NOISE, ...accept, ...headers],
    body: bound.headers["content-type"] === "application/json" ? rewrite(bound.body as Buffer, a) : bound.body,
  };
}

function rewrite(body: Buffer | null, noise: number): Buffer | null {
  const value = body === null ? null : readJson(body.toString("utf8"));
  // Bytes that only say that they are JSON go as they are.
  if (typeof value !== "object" || value === null) return body;
  const members = Object.entries(value);
  if (noise % 2 === 0) members.reverse();
  return Buffer.from(JSON.stringify(Object.fromEntries(members), null, noise % 3));
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
const BITS = ["a", "/", "%2F", "%2e", "..", "&", "=", "?", "x=1", "+", "%", "[", ";", "ü", "1", "{}", "null"];

/** Somewhere, something: a method, a piece of the target, a byte or a member of the body, a header field. */
function mutate(request: PlainRequest, where: number, how: number): PlainRequest {
  const bit = BITS[how % BITS.length] ?? "a";
  switch (where % 5) {
    case 0:
      return { ...request, method: METHODS[how % METHODS.length] ?? "GET" };
    case 1: {
      const at = 1 + (how % request.target.length);
      return { ...request, target: request.target.slice(0, at) + bit + request.target.slice(at) };
    }
    case 2: {
      const at = 1 + (how % request.target.length);
      return { ...request, target: request.target.slice(0, at) + request.target.slice(at + 1) };
    }
    case 3: {
      if (request.body === null) return { ...request, body: Buffer.from(bit) };
      const at = how % (request.body.byteLength + 1);
      const body = request.body as Buffer;
      const bytes = [body.subarray(0, at), Buffer.from(bit), body.subarray(at)];
      return { ...request, body: Buffer.concat(bytes) };
    }
    default: {
      if (request.body === null)
        return { ...request, target: `${request.target}${request.target.includes("?") ? "&" : "?"}x=1` };
      const text = request.body.toString("utf8");
      return { ...request, body: Buffer.from(text.replace(/[a-z0-9]/, how % 2 === 0 ? "b" : "7")) };
    }
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function readAs(type: string, text: string): unknown {
  if (type === "application/json") return readJson(text);
  return type.includes("urlencoded") ? sortPairs([...new URLSearchParams(text)]) : text;
}

function sortPairs(pairs: [string, string][]): [string, string][] {
  return pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}

/** What another reader makes of it: Node's own URL, URLSearchParams and JSON. */
function plainly({ method, origin, target, headers, body }: PlainRequest, without: ReadonlySet<string>) {
  const url = new URL(origin + target);
  const pairs = [...url.searchParams].filter(([name]) => !without.has(name));
  const [, type = ""] = headers.find(([name]) => name === "content-type") ?? [];
  const text = body?.toString("utf8") ?? "";
  return {
    method,
    origin: url.origin,
    path: url.pathname.split("/").map(decodeURIComponent),
    pairs: sortPairs(pairs),
    body: text === "" ? null : readAs(type, text),
  };
}

test("what gh and GitHub's libraries send for an issue is the issue action of the shipped pack", () => {
  const request: PlainRequest = {
    origin: "https://api.github.com",
    method: "GET",
    target: "/repos/octo-org/app/issues/42",
    headers: [
      ["host", "api.github.com"],
      ["user-agent", "GitHub CLI 2.46.0"],
      ["accept", "application/vnd.github.v3+json"],
      ["authorization", `token ${PLACEHOLDER}`],
      ["content-type", "application/json; charset=utf-8"],
      ["time-zone", "Etc/UTC"],
      ["x-github-api-version", "2022-11-28"],
      ["accept-encoding", "gzip"],
    ],
    body: null,
  };
  const both = reverse(packs, request, PLACEHOLDER);
  assert.equal(both.kind === "refused" && both.code, "pack_choice_needed", "as a token's and as an app's");
  const found = reverse(
    packs.filter(({ name }) => name !== "github-app"),
    request,
    PLACEHOLDER,
  );
  assert.ok(found.kind === "action", JSON.stringify(found));
  assert.equal(found.action.qualifiedName, "github.issue.get");
  assert.deepEqual(found.input, { owner: "octo-org", repo: "app", number: 42 });
});
